/**
 * Erases a store whole. First it is noted, so that nothing of the store is applied any longer and no slice that is under way brings
 * anything back; then access goes, then the data of every generation, and at last it is noted up to where the log is passed by.
 * Run again, it does what is left to do.
 */
import {
  controlCollections,
  type PartitionEnd,
  storeAccessId,
  type StoreErasure,
} from '#shared/access/access-keys.ts';
import { publishAccess } from '#shared/access/grants.ts';
import { commandInvalid } from '#shared/errors.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import type { Checkpoint } from '#shared/projection/slice/checkpoint.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import { findGenerations, PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import type { Db } from 'mongodb';
import { setTimeout as sleep } from 'node:timers/promises';
import { pastHangingTransactions } from '../access/hanging-transactions.ts';
import type { Servers } from '../connection/servers.ts';
import { block, countAccess, removeAccess, revokeKeys, type StoreOf } from './access.ts';
import { addUp, countDocuments, type Counts, removeDocuments } from './documents.ts';

/** What was published together with the end of an erasure is of before it, whatever each process has heard of by then. */
const END_MS = 1_000;

export interface GenerationCounts {
  generation: number;
  documents: Counts;
}

export interface Holdings {
  access: Counts;
  generations: GenerationCounts[];
}

/** Counts what is stored of a store. */
export async function countHoldings(servers: Servers, store: StoreOf): Promise<Holdings> {
  const topic = changesTopic(store.environment);
  const generations: GenerationCounts[] = [];
  for (const { number, db } of await generationsOf(servers, store)) {
    generations.push({
      generation: number,
      documents: await countDocuments(db, topic, store.store_id),
    });
  }
  return { access: await countAccess(servers, store), generations };
}

/** Erases a store. @returns how many documents were removed, by generation. */
export async function eraseStore(servers: Servers, store: StoreOf): Promise<GenerationCounts[]> {
  const { environment, store_id } = store;
  // Without one of these nothing is begun.
  await servers.redis();
  const topic = changesTopic(environment);
  const topics = [topic, accessTopic(environment)];
  await endsOf(servers, topics);
  const control = await servers.control();
  await generationsOf(servers, store);

  await block(servers, store);
  await note(servers, store, { at: new Date() });
  await afterSlicesUnderWay(control, accessTopic(environment));
  await revokeKeys(servers, store);
  await removeAccess(servers, store);

  const removed: GenerationCounts[] = [];
  for (const { number, db } of await generationsOf(servers, store)) {
    await afterSlicesUnderWay(db, topic);
    const passes: Counts[] = [];
    // A command that retries letters may have been at work meanwhile.
    do passes.push(await removeDocuments(db, topic, store_id));
    while (Object.keys(passes.at(-1) ?? {}).length > 0);
    removed.push({ generation: number, documents: addUp(passes) });
  }

  const ends = await endsOf(servers, topics);
  const at = new Date(Date.now() + END_MS);
  await note(servers, store, { at, ends });
  // Whoever passes by for what it had heard before has done so by then.
  for (const { db } of await generationsOf(servers, store)) await afterSlicesUnderWay(db, topic);
  await afterSlicesUnderWay(control, accessTopic(environment));
  await sleep(Math.max(0, at.getTime() - Date.now()));
  const later = await endsOf(servers, topics);
  const untilOf = ({ topic: name, partition }: PartitionEnd) =>
    later.find((end) => end.topic === name && end.partition === partition)?.end;
  await note(servers, store, { at, ends: ends.map((end) => ({ ...end, until: untilOf(end) ?? end.end })) });
  return removed;
}

/** The ends of the partitions of some topics, in a fixed order. */
async function endsOf(servers: Servers, topics: readonly string[]): Promise<PartitionEnd[]> {
  const ends: PartitionEnd[] = [];
  for (const topic of topics) {
    const kafka = await servers.kafkaOf(topic).admin();
    const offsets = await kafka.fetchTopicOffsets(topic);
    for (const { partition, high } of offsets) ends.push({ topic, partition, end: Number(high) });
  }
  return ends;
}

/** @throws {StoreDataError} `command_invalid` where there is one whose projectors may not know of erased stores. */
async function generationsOf(servers: Servers, { environment }: StoreOf) {
  const known = await findGenerations(await servers.databases(environment), environment);
  return known.flatMap(({ number, state, db, marker }) => {
    if (marker === null || state === 'dropping') return [];
    if (marker.projection_version === PROJECTION_VERSION) return [{ number, db }];
    throw commandInvalid(
      `generation ${number} of ${environment} has projection version ${marker.projection_version}, this release has ${PROJECTION_VERSION}: drop it first, or use its release until then`,
    );
  });
}

/** Notes the erasure where access is decided, which is blocked by then; the store's own record and quota say nothing of that any longer. */
async function note(
  servers: Servers,
  { environment, store_id }: StoreOf,
  erased: StoreErasure,
): Promise<void> {
  const control = await servers.control();
  const { stores } = controlCollections(control);
  const _id = storeAccessId(environment, store_id);
  const fields = {
    erased: { $literal: erased },
    record_status: 'active',
    record_sequence: -1,
    quota: '$$REMOVE',
    // As `nextVersion` has it.
    version: { $max: [{ $add: ['$version', 1] }, Date.now()] },
    publish_pending: true,
    updated_at: '$$NOW',
  };
  const topic = accessTopic(environment);
  const store = await pastHangingTransactions(control, topic, () =>
    stores.findOneAndUpdate({ _id }, [{ $set: fields }], { returnDocument: 'after' }),
  );
  if (store === null) throw new Error('the record of the store that was blocked is not there');
  await publishAccess(await servers.redis(), servers.config.namePrefix, { store, stores });
}

/**
 * Waits until every slice has come to its end that may have been applied without the knowledge of what was noted: each one writes its
 * checkpoint before anything else, so that this write comes after it.
 */
async function afterSlicesUnderWay(db: Db, topic: string): Promise<void> {
  const checkpoints = db.collection<Checkpoint>(CHECKPOINTS);
  await pastHangingTransactions(db, topic, () =>
    checkpoints.updateMany({ topic }, { $set: { updated_at: new Date() } }),
  );
}
