import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { TOPIC_CONFIG } from '#shared/kafka/client.ts';
import { useFolder } from '#test/folder.ts';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { readLog } from '#test/read-log.ts';
import { configureTopic } from '#test/topics.ts';
import { orderLine } from './publish/events.ts';
import { expectRefused, runCommand, runJson, startCommand } from './run-command.ts';

interface Published {
  topic: string;
  key: string;
  value: string;
}

describe('publish', () => {
  const installation = useInstallation({ environments: 2, partitions: 3 });
  const folder = useFolder();
  let first = '';
  let second = '';
  beforeAll(async () => {
    [first = '', second = ''] = installation.config.environments;
  });

  const file = async (name: string, content: string | Buffer) => {
    const path = join(folder, name);
    await writeFile(path, content);
    return path;
  };

  /** All messages on both topics of an environment. */
  async function published(environment: string): Promise<Published[]> {
    const found: Published[] = [];
    for (const topic of [changesTopic(environment), accessTopic(environment)]) {
      for (const { key, value } of await readLog(installation, topic)) {
        found.push({ topic, key: String(key), value: String(value) });
      }
    }
    return found;
  }

  it('sends valid events, and reports other lines without stopping', async () => {
    const big = orderLine('s1', 'big', { padding: 'x'.repeat(900_000) });
    const block = orderLine('s2', 's2', {
      type: 'store-data.store_access.changed',
      data: { status: 'blocked' },
    });
    const lines = [
      orderLine('s1', 'o1'),
      'not json',
      '',
      orderLine('s1', 'o2', { sequence: '-1' }),
      orderLine('s1', 'o3', { padding: 'x'.repeat(1_100_000) }),
      big,
      orderLine('s2', 'o4', { data: { status: 'pending' } }),
      block,
      orderLine('s1', 'o5'),
    ];
    const path = await file('mixed.ndjson', lines.join('\r\n'));
    const { code, stdout, stderr } = await runCommand(installation.env, [
      'publish',
      path,
      '-e',
      first,
    ]);
    expect(stdout).toMatch(/^sent 4, rejected 4, took [^\n]*\n$/);
    const reasons = [...stderr.matchAll(/^line (\d: \w+): /gm)].map(([, reason]) => reason);
    expect([code, reasons]).toEqual([
      1,
      ['2: malformed', '4: invalid_attribute', '5: too_large', '7: invalid_data'],
    ]);
    const messages = await published(first);
    expect(messages).toHaveLength(4);
    expect(messages.filter(({ key }) => key === 's1').map(({ value }) => value)).toEqual([
      orderLine('s1', 'o1'),
      big,
      orderLine('s1', 'o5'),
    ]);
    expect(messages.find(({ key }) => key === 's2')).toEqual({
      topic: `store-access.${first}`,
      key: 's2',
      value: block,
    });
  });

  it('keeps the order of each store from a pipe, and prints JSON', async () => {
    const ids = Array.from({ length: 6_000 }, (_, index) => index);
    const input = ids.map((id) => `${orderLine(`s${id % 7}`, `o${id}`)}\n`).join('');
    const result = await runJson<object>(
      installation.env,
      ['publish', '-', '--environment', second],
      input,
    );
    expect(result).toMatchObject({ environment: second, sent: 6_000, rejected: 0 });
    const messages = await published(second);
    for (let store = 0; store < 7; store += 1) {
      expect(
        messages
          .filter(({ key }) => key === `s${store}`)
          .map(({ value }) => (JSON.parse(value) as { subject: string }).subject),
      ).toEqual(ids.filter((id) => id % 7 === store).map((id) => `o${id}`));
    }
  });

  it('names the line of an event that is too large for its topic', async () => {
    const narrow = (bytes: number) =>
      configureTopic(installation.kafka, changesTopic(second), {
        ...TOPIC_CONFIG,
        'max.message.bytes': String(bytes),
      });
    await narrow(20_000);
    try {
      const lines = Array.from({ length: 200 }, (_, index) =>
        orderLine('s1', `n${index}`, index === 99 ? { padding: 'x'.repeat(30_000) } : {}),
      );
      const input = lines.join('\n');
      const { code, stdout, stderr } = await runCommand(
        installation.env,
        `publish - -e ${second}`,
        {
          input,
        },
      );
      expect(stderr).toBe(
        `line 100: too_large: Kafka does not accept a message of this size on ${changesTopic(second)}\n`,
      );
      expect(stdout).toMatch(/^sent 199, rejected 1,/);
      expect(code).toBe(1);
    } finally {
      await narrow(10 * 1_048_576);
    }
  });

  it('sends lines of a pipe before more arrive, and ends immediately on Ctrl-C', async () => {
    const before = (await published(first)).length;
    const { process: child, result } = startCommand(installation.env, [
      'publish',
      '-',
      '-e',
      first,
    ]);
    child.stdin.write(`${orderLine('s1', 'idle')}\n`);
    await eventually('it is published', async () => (await published(first)).length > before);
    child.kill('SIGINT');
    const { code, stdout } = await result;
    expect(stdout).toMatch(/^sent 1, rejected 0/);
    expect(code).toBe(1);
  });

  it('explains wrong arguments', async () => {
    const path = await file('one.ndjson', orderLine('s1', 'o1'));
    const none = join(folder, 'none');
    const expectEnd = async (args: string, code: number, stderr: string | RegExp, env = {}) => {
      const ended = await runCommand({ ...installation.env, ...env }, `publish ${args}`);
      const words = typeof stderr === 'string' ? stderr : expect.stringMatching(stderr);
      expect([ended.code, ended.stderr]).toEqual([code, words]);
      if (code === 2) expect(ended.stdout).toBe('');
    };
    await expectEnd(path, 2, /--environment is needed, since there are several; configured: /);
    await expectEnd(
      `${none} -e ${first}`,
      1,
      `store-data: ${none} cannot be read: there is no such file\n`,
    );
    const stopped =
      /^store-data: stopped after line 0: topic store-changes.missing does not exist, .*; the rest begins with line 1/;
    await expectEnd(path, 1, stopped, { ENVIRONMENTS: 'missing' });
  });

  it('reports a broker that accepts connections and never answers', async () => {
    const path = await file('one.ndjson', orderLine('s1', 'o1'));
    const deaf = createServer(() => undefined);
    await new Promise<void>((resolve) => {
      deaf.listen(0, '127.0.0.1', resolve);
    });
    const address = deaf.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const env = { ...installation.env, KAFKA_BROKERS: `127.0.0.1:${port}` };
    await expectRefused(
      runCommand(env, `publish ${path} -e ${first}`),
      `Kafka cannot be reached at 127.0.0.1:${port}`,
    );
    deaf.close();
  });
});
