import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { TOPIC_CONFIG } from '#shared/kafka/client.ts';
import { useFolder } from '#test/folder.ts';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { readLog } from '#test/read-log.ts';
import { times } from '#test/times.ts';
import { configureTopic } from '#test/topics.ts';
import { orderLine } from './publish/events.ts';
import { expectRefused, runCommand, runJson, startCommand } from './run-command.ts';

describe('publish', () => {
  const installation = useInstallation({ environments: 2, partitions: 3 });
  const file = join(useFolder(), 'events.ndjson');
  let first = '';
  let second = '';
  beforeAll(async () => {
    [first = '', second = ''] = installation.config.environments;
  });

  const run = (words: string, input = '', over: Record<string, string> = {}) =>
    runCommand({ ...installation.env, ...over }, `publish ${words}`, { input });
  /** The texts of a store's messages on a topic. */
  const published = async (topic: string, storeId = 's1') =>
    (await readLog(installation, topic))
      .filter(({ key }) => String(key) === storeId)
      .map(({ value }) => String(value));

  it('sends valid events, and reports other lines without stopping', async () => {
    const big = orderLine('s1', 'big', { padding: 'x'.repeat(900_000) });
    const type = 'store-data.store_access.changed';
    const block = orderLine('s2', 's2', { type, data: { status: 'blocked' } });
    const lines = [
      orderLine('s1', 'o1'),
      'not json',
      '',
      orderLine('s1', 'o3', { padding: 'x'.repeat(1_100_000) }),
      big,
      block,
      orderLine('s1', 'o5'),
    ];
    await writeFile(file, lines.join('\r\n'));
    const { code, stdout, stderr } = await run(`${file} -e ${first}`);
    expect(stdout).toMatch(/^sent 4, rejected 2, took [^\n]*\n$/);
    const reasons = [...stderr.matchAll(/^line (\d: \w+): /gm)].map(([, reason]) => reason);
    expect([code, reasons]).toEqual([1, ['2: malformed', '4: too_large']]);
    expect(await published(changesTopic(first))).toEqual([
      orderLine('s1', 'o1'),
      big,
      orderLine('s1', 'o5'),
    ]);
    expect(await published(accessTopic(first), 's2')).toEqual([block]);
  });

  it('keeps the order of each store from a pipe, and prints JSON', async () => {
    const lines = times(6_000, (id) => orderLine(`s${id % 7}`, `o${id}`));
    const words = `publish - --environment ${second}`;
    const result = await runJson(installation.env, words, `${lines.join('\n')}\n`);
    expect(result).toMatchObject({ environment: second, sent: 6_000, rejected: 0 });
    for (let store = 0; store < 7; store += 1) {
      expect(await published(changesTopic(second), `s${store}`)).toEqual(
        lines.filter((_line, id) => id % 7 === store),
      );
    }
  });

  it('names the line of an event that is too large for its topic', async () => {
    const topic = changesTopic(second);
    const limit = (bytes: number) =>
      configureTopic(installation.kafka, topic, {
        ...TOPIC_CONFIG,
        'max.message.bytes': String(bytes),
      });
    await limit(20_000);
    const lines = times(200, (index) =>
      orderLine('s1', `n${index}`, index === 99 ? { padding: 'x'.repeat(30_000) } : {}),
    );
    const { code, stdout, stderr } = await run(`- -e ${second}`, lines.join('\n'));
    await limit(10 * 1_048_576);
    expect(stderr).toBe(
      `line 100: too_large: Kafka does not accept a message of this size on ${topic}\n`,
    );
    expect(stdout).toMatch(/^sent 199, rejected 1,/);
    expect(code).toBe(1);
  });

  it('sends lines of a pipe before more arrive, and ends immediately on Ctrl-C', async () => {
    const { process: child, result } = startCommand(installation.env, `publish - -e ${first}`);
    const line = orderLine('s1', 'idle');
    child.stdin.write(`${line}\n`);
    await eventually('it is published', async () =>
      (await published(changesTopic(first))).includes(line),
    );
    child.kill('SIGINT');
    const { code, stdout } = await result;
    expect(stdout).toMatch(/^sent 1, rejected 0/);
    expect(code).toBe(1);
  });

  it('explains wrong arguments', async () => {
    await writeFile(file, orderLine('s1', 'o1'));
    const several = /--environment is needed, since there are several; configured: /;
    await expectRefused(run(file), several, 2);
    const missing = `store-data: ${file}-2 cannot be read: there is no such file\n`;
    expect(await run(`${file}-2 -e ${first}`)).toMatchObject({ code: 1, stderr: missing });
    const stopped =
      /^store-data: stopped after line 0: topic store-changes.missing does not exist, .*; the rest begins with line 1/;
    expect(await run(file, '', { ENVIRONMENTS: 'missing' })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(stopped) as string,
    });
  });
});
