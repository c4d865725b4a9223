import { expect, it } from 'vitest';
import { controlCollections } from '#shared/access/access-keys.ts';
import { useInstallation, useRestartableProjector } from '#test/hooks.ts';
import { expectRefused, runCommand, runJson } from './run-command.ts';

const installation = useInstallation({ environments: 2 });
const { start } = useRestartableProjector(installation);

const names = () => installation.env['ENVIRONMENTS']?.split(',') ?? [];
const run = (words: string) => runCommand(installation.env, words);

/** The ids of the keys and stores whose last change the log lacks. */
async function marked(): Promise<string[]> {
  const { keys, stores } = controlCollections(installation.databases.control);
  const pending = { event_pending: true } as const;
  const found = [
    ...(await keys.find(pending).toArray()),
    ...(await stores.find(pending).toArray()),
  ];
  return found.map(({ _id }) => _id).toSorted();
}

let requests = 0;

/** Makes a key and a quota, and changes both while Kafka cannot be reached. @returns the key. */
async function leaveMarks(environment: string): Promise<string> {
  await start();
  const about = ['--store', 's1', '--environment', environment];
  const { client_id: key } = await runJson<{ client_id: string }>(installation.env, [
    'keys',
    'create',
    '--scopes',
    'order',
    ...about,
  ]);
  const noKafka = { ...installation.env, KAFKA_BROKERS: '127.0.0.1:1' };
  for (const args of [
    ['keys', 'revoke', key],
    ['quota', 'set', ...about, '--requests', String((requests += 1))],
  ]) {
    await expectRefused(
      runCommand(noKafka, args),
      /is in MongoDB and stays, but: Kafka cannot be reached/,
    );
  }
  expect(await marked()).toEqual([key, `${environment}/s1`].toSorted());
  return key;
}

it('"access republish" publishes what the log lacks, and removes its marks', async () => {
  const [environment = ''] = names();
  await leaveMarks(environment);
  expect(await run(`access republish --environment ${environment}`)).toMatchObject({ code: 0 });
  expect(await marked()).toEqual([]);
});

it('a change of access in one environment publishes what another environment lacks', async () => {
  const [environment = '', other = ''] = names();
  await leaveMarks(environment);
  const changed = await run(`stores block s9 --environment ${other}`);
  expect(changed).toMatchObject({ code: 0 });
  expect(await marked()).toEqual([]);
});

it('marks of an environment that is not configured: not counted: no command could publish them', async () => {
  const [environment = '', other = ''] = names();
  await leaveMarks(environment);
  expect(
    await runCommand({ ...installation.env, ENVIRONMENTS: other }, 'access republish'),
  ).toMatchObject({ code: 0 });
  expect(await marked()).toHaveLength(2);
  await run('access republish');
  expect(await marked()).toEqual([]);
});
