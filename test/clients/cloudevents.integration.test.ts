/**
 * The messages that CloudEvents SDKs produce, call by call, compared with the table in
 * docs/events.md.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, type TestContext } from 'vitest';
import { readChange } from '#shared/events/change.ts';
import { rejectionOf } from '#test/events.ts';
import { sentByJavaScript } from './cloudevents/npm.ts';
import type { Sent } from './cloudevents/sent.ts';
import {
  prepared,
  prepareGo,
  prepareJava,
  preparePython,
  type Program,
  runProgram,
  settled,
} from './programs.ts';

/** Downloading and compiling take up to this long over a slow connection. */
const FETCH_LIMIT_MS = 240_000;

const folderOf = (name: string) => join(import.meta.dirname, 'cloudevents', name);

async function python(name: 'python1' | 'python2'): Promise<Program> {
  return (await preparePython(folderOf(name), `cloudevents-${name}`))('main.py');
}

const java = prepareJava(folderOf('java'), 'Sent.java', {
  title: 'the CloudEvents SDK for Java',
  name: 'cloudevents-java-4.0.1',
  downloadBytes: 24_000_000,
});

const programs = {
  'Python 1': sentBy(python('python1')),
  'Python 2': sentBy(python('python2')),
  'Go 2': sentBy(prepareGo(folderOf('go'))),
  'Java 4': sentBy(java),
};
const bySdk = { 'JavaScript 10': settled(Promise.resolve(sentByJavaScript())), ...programs };
type Sdk = keyof typeof bySdk;

function sentBy(program: Promise<Program>): Promise<PromiseSettledResult<Sent[]>> {
  return settled(program.then(async (ready) => (await runProgram(ready)) as Sent[]));
}

interface Row {
  sdk: string;
  call: string;
  accepted: string;
}

/** The rows of the table, one for each variant of a call; `plain` is the call without options. */
function documentedRows(): Row[] {
  const text = readFileSync(join(import.meta.dirname, '../../docs/events.md'), 'utf8');
  const section = text.split('\n## ').find((part) => part.startsWith('SDKs\n')) ?? '';
  return section
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .flatMap(([, sdk = '', call = '', accepted = '', refused = '']) => [
      ...variantsOf(accepted).map((variant) => ({
        sdk,
        call: callOf(call, variant),
        accepted: 'yes',
      })),
      ...variantsOf(refused)
        .map((variant) => variant.split(': ') as [string, string])
        .map(([variant, why]) => ({ sdk, call: callOf(call, variant), accepted: `no: ${why}` })),
    ]);
}

const variantsOf = (cell: string) => cell.split(' · ').filter((variant) => variant !== '');
const callOf = (call: string, variant: string) =>
  variant === 'plain' ? call : `${call}, ${variant}`;

const rows = documentedRows();

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

function ofSdk(sdk: Sdk, context: TestContext): Promise<Sent[]> {
  return prepared(bySdk[sdk], context);
}

describe.for(Object.keys(bySdk) as Sdk[])('%s', { timeout: FETCH_LIMIT_MS }, (sdk) => {
  const documented = rows.filter((row) => row.sdk === sdk);

  it('has a row in the table for each tested call', async (context) => {
    const calls = (await ofSdk(sdk, context)).map(({ call }) => call);
    expect(documented.map(({ call }) => call).toSorted()).toEqual(calls.toSorted());
  });

  it.for(documented)('$call: $accepted', async ({ call, accepted }, context) => {
    const sent = (await ofSdk(sdk, context)).find((one) => one.call === call);
    expect(sent && verdict(sent)).toBe(accepted);
  });
});
