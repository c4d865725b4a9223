/** Changes of access that the log lacks, since Kafka was away: the record is marked. */
import { expect, it } from 'vitest';
import { accessTopic } from '#shared/events/topics.ts';
import { useQueryService } from '#test/hooks.ts';
import { readLog } from '#test/read-log.ts';
import { expectRefused, runCommand, runJson } from './run-command.ts';

const service = useQueryService({ environments: 2 });

const run = (words: string, over: Record<string, string> = {}) =>
  runCommand({ ...service.installation.env, ...over }, words);

/** The ids of the keys and stores whose last change the log lacks. */
async function marked(): Promise<string[]> {
  const pending = { event_pending: true } as const;
  const keys = await service.control.keys.find(pending).toArray();
  const stores = await service.control.stores.find(pending).toArray();
  return [...keys, ...stores].map(({ _id }) => _id);
}

let requests = 0;

/** Makes a key and a quota, and changes both while Kafka cannot be reached. @returns the other environment. */
async function leaveMarks(): Promise<string> {
  const { env, redis, config } = service.installation;
  const [environment = '', other = ''] = config.environments;
  const about = `--store s1 --environment ${environment}`;
  const { client_id: key } = await runJson<{ client_id: string }>(
    env,
    `keys create --scopes order ${about}`,
  );
  requests += 1;
  for (const words of [`keys revoke ${key}`, `quota set ${about} --requests ${requests}`]) {
    await expectRefused(
      run(words, { KAFKA_BROKERS: '127.0.0.1:1' }),
      /is in MongoDB and stays, but: Kafka cannot be reached .*until the next change of access/,
    );
  }
  expect(await redis.zrange(service.inRedis('s1').grant(key), 0, '-1')).toEqual(['revoked order']);
  expect(await marked()).toEqual([key, `${environment}/s1`]);
  return other;
}

it('"access republish" publishes what the log lacks, and removes its marks', async () => {
  const { environment } = service.installation;
  await leaveMarks();
  expect((await run(`access republish --environment ${environment}`)).code).toBe(0);
  expect(await marked()).toEqual([]);
  const log = await readLog(service.installation, accessTopic(environment));
  expect(String(log.at(-1)?.value)).toContain('"status":"revoked"');
});

it('a change of access in one environment publishes what another environment lacks', async () => {
  const other = await leaveMarks();
  expect((await run(`stores block s9 --environment ${other}`)).code).toBe(0);
  expect(await marked()).toEqual([]);
});

it('marks of an environment that is not configured stay until a command that knows it', async () => {
  const other = await leaveMarks();
  expect((await run('access republish', { ENVIRONMENTS: other })).code).toBe(0);
  expect(await marked()).toHaveLength(2);
  await run('access republish');
  expect(await marked()).toEqual([]);
});
