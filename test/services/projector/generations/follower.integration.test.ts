import { setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { GenerationFollower } from '#projector/generations/follower.ts';
import { createMetrics } from '#projector/metrics.ts';
import { pointersIn } from '#shared/read-models/generation-pointer.ts';
import { createFirstGeneration, createMarker, PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import { createInstallation, type Installation } from '#test/installation.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await createInstallation({ partitions: 1 });
});
afterAll(() => installation?.close());

it('leaves nothing behind that was begun beside a generation that cannot be projected', async () => {
  const { databases, environment } = installation;
  await createFirstGeneration(databases, environment, PROJECTION_VERSION);
  await createMarker(databases, environment, 2, PROJECTION_VERSION);
  await pointersIn(databases.control).updateOne(
    { _id: environment },
    { $set: { others: [{ number: 2, state: 'building' }] } },
  );
  const hasFailed = Promise.withResolvers<void>();
  const [begun, stopped] = [[] as number[], [] as number[]];
  const following = GenerationFollower.start({
    databases,
    environments: [environment],
    apart: new Set(),
    prepare: () => Promise.resolve(),
    projectionVersion: PROJECTION_VERSION,
    logger: pino({ level: 'silent' }),
    metrics: createMetrics(),
    project: async ({ marker: { number } }) => {
      if (number === 2) {
        hasFailed.resolve();
        throw new Error('it cannot be projected');
      }
      await hasFailed.promise;
      // Much later than the other one has failed.
      for (let turn = 0; turn < 1_000; turn += 1) await nextTurn();
      begun.push(number);
      return {
        failed: new Promise<never>(() => undefined),
        isLive: () => true,
        partitions: () => [],
        between: () => Promise.resolve(null),
        stop: async () => void stopped.push(number),
      };
    },
  });
  await expect(following).rejects.toThrow('it cannot be projected');
  expect([begun, stopped]).toEqual([[1], [1]]);
});
