/** A store's erasure covers messages of the log that was erased (rule R14.8). */
import { expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { anOrder } from '#test/changes.ts';
import { orderEvent } from '#test/events.ts';
import { generationDb } from '#test/generations.ts';
import { useQueryService } from '#test/hooks.ts';
import { caughtUp, idsIn } from '#test/read-models.ts';
import { makeTopicAnew } from '#test/topics.ts';
import { runCommand, runJson } from './run-command.ts';

const service = useQueryService({ partitions: 1 });

it('an erased store stays erased in the first generation after MongoDB lost the read models', async () => {
  const { installation } = service;
  await service.apply([anOrder('old', {}, 'gone'), anOrder('other', {}, 'neighbour')]);
  await runJson(installation.env, 'stores erase gone --yes');
  await service.stopProjector();
  const first = generationDb(installation, 1);
  await first.dropDatabase();
  await installation.databases.control.collection('generations').deleteMany({});
  await service.startProjector();
  await caughtUp(installation);
  expect(await idsIn(first, 'orders')).toEqual(['neighbour/other']);
});

it('an erased store is applied from a log that replaced the erased one, and the command reports that', async () => {
  const { installation } = service;
  await service.stopProjector();
  await makeTopicAnew(installation.kafka, changesTopic(installation.environment));
  // At the covered offsets of the former log.
  const later = ['new', 'newer', 'newest'];
  await installation.publish(later.map((id) => orderEvent(id, { storeId: 'gone' })));
  await service.startProjector();
  expect(await runCommand(installation.env, 'rebuild --accept all')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('store gone was erased from another log') as string,
  });
  expect(await idsIn(generationDb(installation, 2), 'orders')).toEqual([
    'gone/new',
    'gone/newer',
    'gone/newest',
  ]);
});
