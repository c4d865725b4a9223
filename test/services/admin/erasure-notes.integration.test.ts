/**
 * A store's erasure holds for the first generation too, which a projector makes by itself (rule
 * R14.8).
 */
import { expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { orderMessage } from '#test/events.ts';
import { generationDb } from '#test/generations.ts';
import { useQueryService } from '#test/hooks.ts';
import { caughtUp, idsIn } from '#test/read-models.ts';
import { runJson } from './run-command.ts';

const service = useQueryService({ partitions: 1 });

it('an erased store stays erased in the first generation after MongoDB lost the read models', async () => {
  const { installation } = service;
  await installation.send(changesTopic(installation.environment), [
    orderMessage('old', { storeId: 'gone' }),
    orderMessage('other', { storeId: 'neighbour' }),
  ]);
  await caughtUp(installation);
  await runJson(installation.env, 'stores erase gone --yes');
  await service.stopProjector();
  const first = generationDb(installation, 1);
  await first.dropDatabase();
  await installation.databases.control.collection('generations').deleteMany({});
  await service.startProjector();
  await caughtUp(installation);
  expect(await idsIn(first, 'orders')).toEqual(['neighbour/other']);
});
