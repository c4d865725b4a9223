/**
 * Alerts that a person ends: by the metrics of real services each fires when its cause is there, and ends by what its runbook
 * (docs/operations.md) says. Prometheus evaluates the rules (promtool).
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { newSigningKey, printKeySet } from '#shared/access/signing-key-set.ts';
import { readConfig } from '#shared/config.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS, lettersIn } from '#shared/read-models/collections.ts';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/installation.ts';
import { startSilentProjector } from '#test/projectors.ts';
import { type RunningApp, startApp } from '#test/query-service.ts';
import { withAdmin } from '#test/topics.ts';
import { runCommand, runJson } from '../../services/admin/run-command.ts';
import { firingAlerts } from './firing-alerts.ts';
import { findPromtool } from './tools.ts';

const promtool = await findPromtool();
const withPromtool = it.skipIf(promtool === null);

const installation = useInstallation({ partitions: 1, settings: { DEAD_LETTER_BYTES: '100' } });
let folder: string;
let keyFile: string;
let keys: string;
let projector: Awaited<ReturnType<typeof startSilentProjector>> | null = null;
let query: RunningApp;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'store-data-remedies-'));
  keyFile = join(folder, 'keys.json');
  keys = printKeySet([await newSigningKey()]);
  await writeFile(keyFile, keys);
  const { SIGNING_KEYS: _keys, ...env } = installation.env;
  projector = await startSilentProjector(installation);
  query = await startApp(readConfig({ ...env, SIGNING_KEYS_FILE: keyFile }));
});
afterAll(async () => {
  await query?.close();
  await projector?.stop();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(() => expectFiring([]));

const topic = () => changesTopic(installation.environment);
const generation = (number = 1) => installation.databases.generation(installation.environment, number);
const run = async (...args: string[]) => {
  const { code, stderr } = await runCommand(installation.env, args);
  expect([args, code], stderr).toEqual([args, 0]);
};

/** The alerts that fire if nothing changes for an hour. */
async function firing(): Promise<string[]> {
  const said = await firingAlerts([projector?.metrics.registry, query.app.services.metrics.registry]);
  return [...new Set([...(said ?? '').matchAll(/alertname: (\w+)/g)].map(([, name = '']) => name))].toSorted();
}

function expectFiring(expected: string[]): Promise<void> {
  let last: string[] = [];
  return eventually(
    `exactly these alerts fire: ${expected.join(', ') || 'none'}`,
    async () => {
      last = await firing();
      return JSON.stringify(last) === JSON.stringify(expected);
    },
    60_000,
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}; but: ${last.join(', ')}`);
  });
}

withPromtool('StoreDataAccessPending: access republish', async () => {
  const { client_id: key } = await runJson<{ client_id: string }>(installation.env, 'keys create -s s1 --scopes order');
  await runCommand({ ...installation.env, KAFKA_BROKERS: '127.0.0.1:1' }, ['keys', 'revoke', key]);
  await expectFiring(['StoreDataAccessPending']);
  await run('access', 'republish');
  await expectFiring([]);
});

withPromtool('StoreDataSigningKeysBroken: the file is restored', async () => {
  await writeFile(keyFile, 'half of a fi');
  await expectFiring(['StoreDataSigningKeysBroken']);
  await writeFile(keyFile, keys);
  await expectFiring([]);
});

withPromtool('StoreDataProjectorsGone, StoreDataGenerationNotProjected: a projector is started', async () => {
  await projector?.stop();
  projector = null;
  await expectFiring(['StoreDataGenerationNotProjected', 'StoreDataNothingFetched', 'StoreDataProjectorsGone']);
  projector = await startSilentProjector(installation);
  await expectFiring([]);
});

withPromtool('StoreDataDeadLettersFull, StoreDataDeadLettersForgotten: the letters are dropped', async () => {
  await installation.send(topic(), [{ key: 's1', value: 'x'.repeat(90), partition: 0 }]);
  await eventually('there is a letter', async () => (await lettersIn(generation()).countDocuments()) === 1);
  await lettersIn(generation()).updateMany({}, { $set: { dead_at: new Date(Date.now() - 8 * 86_400_000) } });
  await expectFiring(['StoreDataDeadLetters', 'StoreDataDeadLettersForgotten', 'StoreDataDeadLettersFull']);
  await run('dead-letters', 'drop', '--all', '--yes');
  // A counter that began within the last quarter of an hour; it ends by itself.
  await expectFiring(['StoreDataDeadLetters']);
  // A restart begins its counters anew.
  await projector?.stop();
  projector = await startSilentProjector(installation);
  await expectFiring([]);
});

withPromtool('StoreDataEnvironmentStopped: the topic is corrected', async () => {
  const setRetention = (value: string) =>
    withAdmin(installation.kafka, (admin) =>
      admin.alterConfigs({
        validateOnly: false,
        resources: [
          {
            type: kafkajs.ConfigResourceTypes.TOPIC,
            name: topic(),
            configEntries: [
              { name: 'retention.ms', value },
              { name: 'cleanup.policy', value: 'delete' },
            ],
          },
        ],
      }),
    );
  await projector?.stop();
  await setRetention('86400000');
  projector = await startSilentProjector(installation);
  const stopped = async () => (await firing()).includes('StoreDataEnvironmentStopped');
  await eventually('the environment is stopped', stopped, 60_000);
  await setRetention('-1');
  await expectFiring([]);
});

withPromtool('StoreDataPartitionStopped: rebuild, and drop the former generation', { timeout: 240_000 }, async () => {
  await installation.send(topic(), [{ key: 's1', value: 'poison', partition: 0 }]);
  await eventually('it is applied', async () => (await lettersIn(generation()).countDocuments()) === 1);
  await projector?.stop();
  // As if the log were another one.
  const checkpoints = generation().collection(CHECKPOINTS);
  await checkpoints.updateMany(
    { topic: topic() },
    { $set: { 'last_message.digest': 'another', 'last_message.timestamp': 1 } },
  );
  projector = await startSilentProjector(installation);
  await eventually(
    'the partition is stopped',
    async () => (await firing()).includes('StoreDataPartitionStopped'),
    60_000,
  );
  await run('rebuild', '--accept', 'all');
  await run('generations', 'drop', '1', '--yes');
  await run('dead-letters', 'drop', '--all', '--yes');
  await projector.stop();
  projector = await startSilentProjector(installation);
  await expectFiring([]);
});
