/**
 * Alerts that a person ends: by the metrics of real services each fires when its cause is there,
 * and ends by what its runbook (docs/operations.md) says. Prometheus evaluates the rules
 * (promtool).
 */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS, lettersIn } from '#shared/read-models/collections.ts';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/installation.ts';
import { startSilentProjector } from '#test/projectors.ts';
import { type RunningApp, startApp } from '#test/query-service.ts';
import { runCommand, runJson } from '../../services/admin/run-command.ts';
import { firingAlerts } from './firing-alerts.ts';
import { findPromtool } from './tools.ts';

const promtool = await findPromtool();
const withPromtool = it.skipIf(promtool === null);

const installation = useInstallation({ partitions: 1, settings: { DEAD_LETTER_BYTES: '100' } });
let projector: Awaited<ReturnType<typeof startSilentProjector>> | null = null;
let query: RunningApp;

beforeAll(async () => {
  projector = await startSilentProjector(installation);
  query = await startApp(installation.config);
});
afterAll(async () => {
  await query?.close();
  await projector?.stop();
});
beforeEach(() => expectFiring([]));

const topic = () => changesTopic(installation.environment);
const generation = (number = 1) =>
  installation.databases.generation(installation.environment, number);
const run = async (...args: string[]) => {
  const { code, stderr } = await runCommand(installation.env, args);
  expect([args, code], stderr).toEqual([args, 0]);
};

/** The alerts that fire if nothing changes for an hour. */
async function firing(): Promise<string[]> {
  const said = await firingAlerts([
    projector?.metrics.registry,
    query.app.services.metrics.registry,
  ]);
  return [
    ...new Set([...(said ?? '').matchAll(/alertname: (\w+)/g)].map(([, name = '']) => name)),
  ].toSorted();
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
  const { client_id: key } = await runJson<{ client_id: string }>(
    installation.env,
    'keys create -s s1 --scopes order',
  );
  await runCommand({ ...installation.env, KAFKA_BROKERS: '127.0.0.1:1' }, ['keys', 'revoke', key]);
  await expectFiring(['StoreDataAccessPending']);
  await run('access', 'republish');
  await expectFiring([]);
});

withPromtool(
  'StoreDataProjectorsGone, StoreDataGenerationNotProjected: a projector is started',
  async () => {
    await projector?.stop();
    projector = null;
    await expectFiring([
      'StoreDataGenerationNotProjected',
      'StoreDataNothingFetched',
      'StoreDataProjectorsGone',
    ]);
    projector = await startSilentProjector(installation);
    await expectFiring([]);
  },
);

withPromtool(
  'StoreDataDeadLettersFull, StoreDataDeadLettersForgotten: the letters are dropped',
  async () => {
    await installation.send(topic(), [{ key: 's1', value: 'x'.repeat(90), partition: 0 }]);
    await eventually(
      'there is a letter',
      async () => (await lettersIn(generation()).countDocuments()) === 1,
    );
    await lettersIn(generation()).updateMany(
      {},
      { $set: { dead_at: new Date(Date.now() - 8 * 86_400_000) } },
    );
    await expectFiring(['StoreDataDeadLettersForgotten', 'StoreDataDeadLettersFull']);
    await run('dead-letters', 'drop', '--all', '--yes');
    await expectFiring([]);
  },
);

withPromtool(
  'StoreDataPartitionStopped: rebuild, and drop the former generation',
  { timeout: 240_000 },
  async () => {
    await installation.send(topic(), [{ key: 's1', value: 'poison', partition: 0 }]);
    await eventually(
      'it is applied',
      async () => (await lettersIn(generation()).countDocuments()) === 1,
    );
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
  },
);
