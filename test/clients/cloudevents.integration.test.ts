/**
 * The messages that CloudEvents SDKs produce, call by call, compared with the table in
 * docs/events.md.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readChange } from '#shared/events/change.ts';
import { rejectionOf } from '#test/events.ts';
import { sentByJavaScript } from './cloudevents/npm.ts';
import type { Sent } from './cloudevents/sent.ts';
import {
  FETCH_LIMIT_MS,
  prepared,
  prepareGo,
  prepareJava,
  preparePython,
  type Program,
  runProgram,
  settled,
} from './programs.ts';

const folderOf = (name: string) => join(import.meta.dirname, 'cloudevents', name);

const python = (name: string) => preparePython(folderOf(name), `cloudevents-${name}`, 'main.py');

const bySdk = {
  'JavaScript 10': settled(Promise.resolve(sentByJavaScript())),
  'Python 1': sentBy(python('python1')),
  'Python 2': sentBy(python('python2')),
  'Go 2': sentBy(prepareGo(folderOf('go'))),
  'Java 4': sentBy(
    prepareJava(folderOf('java'), 'Sent.java', {
      title: 'the CloudEvents SDK for Java',
      name: 'cloudevents-java-4.0.1',
      downloadBytes: 24_000_000,
    }),
  ),
};
type Sdk = keyof typeof bySdk;

function sentBy(program: Promise<Program>): Promise<PromiseSettledResult<Sent[]>> {
  return settled(program.then(async (ready) => (await runProgram(ready)) as Sent[]));
}

/**
 * The rows of the table about an SDK, `<call>: <verdict>`, one for each variant of a call; `plain` is
 * the call without options.
 */
function documented(sdk: string): string[] {
  const text = readFileSync(join(import.meta.dirname, '../../docs/events.md'), 'utf8');
  const rows = text.split('\n').filter((line) => line.startsWith(`| ${sdk} `));
  return rows.flatMap((row) => {
    const [, , call, accepted = '', refused = ''] = row.split('|').map((cell) => cell.trim());
    const variants = [
      ...variantsOf(accepted).map((variant) => `${variant}: yes`),
      ...variantsOf(refused).map((variant) => variant.replace(': ', ': no: ')),
    ];
    return variants.map((variant) => `${call}, ${variant}`.replace(', plain:', ':'));
  });
}

const variantsOf = (cell: string) => cell.split(' · ').filter((variant) => variant !== '');

/** Whether the projector accepts a message, in the words of the table. */
function verdict({ headers, key, value }: Sent): string {
  const message = {
    headers,
    key: Buffer.from(key),
    value: value === null ? null : Buffer.from(value, 'base64'),
  };
  const expected = { entity: 'order', storeId: 's1', id: 'o1', sequence: 17 };
  const rejection = rejectionOf(() => expect(readChange(message)).toMatchObject(expected));
  return rejection === null ? 'yes' : `no: ${rejection.detail}`;
}

it.for(Object.keys(bySdk) as Sdk[])(
  '%s: the table has each call, and whether its message is accepted',
  { timeout: FETCH_LIMIT_MS },
  async (sdk, context) => {
    const calls = (await prepared(bySdk[sdk], context)).map(
      (sent) => `${sent.call}: ${verdict(sent)}`,
    );
    expect(documented(sdk).toSorted()).toEqual(calls.toSorted());
  },
);
