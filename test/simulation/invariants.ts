/**
 * The invariants after every commit: the read models of a generation match the rules, applied to
 * its log up to its checkpoints.
 */
import {
  CATEGORY_PRODUCTS,
  COLLECTIONS,
  DEAD_LETTERS,
  CHECKPOINTS,
  ERASURES,
  type Stamp,
  STAMPS,
  TOMBSTONES,
} from '#shared/read-models/collections.ts';
import type { ClientSession, Db } from 'mongodb';
import { verifyTree } from '#shared/projection/verify/tree.ts';
import type { EntityName } from '#shared/events/entities.ts';
import { isDamaged } from '#shared/kafka/message.ts';
import { RANK_TREES, rankEntries } from '#shared/read-models/rank-tree/trees.ts';
import type { Doc } from './filters.ts';
import type { Entry } from './log.ts';
import { Model, type Retried } from './model.ts';
import { RETRIES } from './operator.ts';
import { TOPIC } from './projector.ts';
import { docsOf, readerOf, type Session, type State } from './store.ts';

/** The customers' names in orders and reviews of the world. */
export const NAME = 'Zoë';

const ENTITIES = Object.keys(COLLECTIONS) as EntityName[];

export class Violation extends Error {}

interface Followed {
  position: number;
  /** The ids of retried letters; after a restore there may be as many others. */
  retries: string;
  model: Model;
}

/** What is known of the logs. */
interface Known {
  /** All messages that were ever published to a partition, even lost ones. */
  history: (partition: number) => readonly Entry[];
  partitionOf: (storeId: string) => number;
  /** Whether an operator decided to skip the damaged batch at an offset. */
  isSkipped: (partition: number, from: number) => boolean;
}

export class Invariants {
  readonly #known: Known;
  /** By `<generation>/<partition>`. */
  readonly #followed = new Map<string, Followed>();

  constructor(known: Known) {
    this.#known = known;
  }

  /** Checks the changes of a commit. @throws {Violation} */
  check(
    before: State,
    after: State,
    session: Session['id'] | null,
    ended: ReadonlySet<string>,
  ): void {
    const changed = [...after].flatMap(([name, documents]) => {
      const [generation = '', collection = ''] = name.split('/');
      const former = before.get(name);
      return documents === former ? [] : [{ name, generation, collection, documents, former }];
    });
    for (const { name, generation, collection, documents, former } of changed) {
      for (const [id, { doc }] of documents) {
        const was = former?.get(id)?.doc['position'];
        if (collection === STAMPS && Number(doc['position'] ?? 0) < Number(was ?? 0))
          throw new Violation(`${name}/${id}: its position went back`);
        if (collection !== CHECKPOINTS || doc['position'] === was) continue;
        if (was !== undefined && idOf(doc) !== session?.id)
          throw new Violation(
            `${name}/${id}: it was moved by ${session?.id ?? 'nobody'}, not by its owner`,
          );
        this.#checkCheckpoint(after, generation, doc, ended);
      }
    }
    const retried = changed.filter(({ collection }) => collection === RETRIES);
    for (const { generation } of retried) this.checkAll(after, generation, ended);
    // A transaction runs in a session that a checkpoint names, or a claim could not end it: but for
    // the operator's.
    if (session === null || retried.length > 0) return;
    for (const generation of new Set(changed.map((one) => one.generation))) {
      if (!docsOf(after, generation, CHECKPOINTS).some((doc) => idOf(doc) === session.id))
        throw new Violation(
          `${generation}: it was written in ${session.id}, a session that no checkpoint names`,
        );
    }
  }

  /** Checks all of a generation. @throws {Violation} */
  checkAll(state: State, generation: string, ended: ReadonlySet<string>): void {
    for (const doc of docsOf(state, generation, CHECKPOINTS))
      this.#checkCheckpoint(state, generation, doc, ended);
  }

  #checkCheckpoint(
    state: State,
    generation: string,
    { partition, position }: Doc,
    ended: ReadonlySet<string>,
  ): void {
    if (!ended.has(`${generation}/${String(partition)}`))
      this.#checkPartition(state, generation, Number(partition), Number(position));
  }

  /** Checks every node of every rank tree. @throws {Violation} */
  async checkTrees(state: State, generation: string): Promise<void> {
    const db = readerOf(state, generation) as unknown as Db;
    for (const doc of docsOf(state, generation, STAMPS)) {
      for (const tree of Object.values(RANK_TREES)) {
        const transaction = { db, session: {} as ClientSession, tree, storeId: doc._id };
        await verifyTree(transaction, doc as unknown as Stamp, (what, stored, counted) =>
          same(`${generation}: ${what} of the tree ${tree.name} of ${doc._id}`, stored, counted),
        );
      }
    }
  }

  #checkPartition(state: State, generation: string, partition: number, position: number): void {
    const key = `${generation}/${partition}`;
    const known = this.#followed.get(key);
    // After a restore everything is recomputed.
    const retried = retriedIn(state, generation, partition);
    const retries = retried.map(({ _id }) => _id).join();
    const isKnown = known !== undefined && known.position <= position && known.retries === retries;
    const { model, position: from } = isKnown ? known : { model: new Model(), position: 0 };
    model.apply(this.#known.history(partition), from, position, isKnown ? [] : retried);
    this.#followed.set(key, { model, position, retries });
    const about = `${key} at ${position}`;
    for (const { from: at, unreadable } of this.#known.history(partition)) {
      if (unreadable === null || !isDamaged(unreadable) || at >= position) continue;
      if (!this.#known.isSkipped(partition, at))
        throw new Violation(`${about}: it has passed the damaged batch at ${at}`);
    }
    const of = (collection: string) =>
      docsOf(state, generation, collection).filter(
        (doc) => this.#known.partitionOf(String(doc['store_id'])) === partition,
      );
    const found = new Map<string, string>();
    for (const entity of ENTITIES) {
      for (const doc of of(COLLECTIONS[entity]))
        found.set(`${entity}/${doc._id}`, String(doc['sequence']));
    }
    for (const doc of of(TOMBSTONES)) {
      if (found.has(doc._id)) throw new Violation(`${about}: ${doc._id} is stored and deleted`);
      found.set(doc._id, `${String(doc['sequence'])} deleted`);
    }
    for (const [id, { sequence, isDeleted }] of model.records)
      same(`${about}: ${id}`, found.get(id), isDeleted ? `${sequence} deleted` : String(sequence));
    same(`${about}: the number of records`, found.size, model.records.size);
    for (const stamp of of(STAMPS)) checkStore(stamp as unknown as Stamp, of, model, about);
    const letters = docsOf(state, generation, DEAD_LETTERS).filter(
      (doc) => doc['topic'] === TOPIC && doc['partition'] === partition,
    );
    same(`${about}: the number of dead letters`, letters.length, model.letters);
  }
}

/** Checks what is stored of a store. @param of has the documents of a collection. */
function checkStore(
  stamp: Stamp,
  of: (collection: string) => Doc[],
  model: Model,
  about: string,
): void {
  const storeId = stamp._id;
  const ofStore = (collection: string) =>
    of(collection).filter((doc) => doc['store_id'] === storeId);
  const erasures = new Map(of(ERASURES).map((doc) => [doc._id, Number(doc['position'])]));
  const positions = new Set<number>();
  for (const entity of ENTITIES) {
    const effects = model.effects.get(`${storeId}/${entity}`) ?? 0;
    const docs = ofStore(COLLECTIONS[entity]);
    same(`${about}: the events of ${storeId}/${entity}`, stamp[entity] ?? 0, effects);
    same(`${about}: the ${entity}s of ${storeId}`, stamp.counts?.[entity] ?? 0, docs.length);
    for (const doc of docs) {
      const customer = `${storeId}/${String(doc['customer_id'])}`;
      const position = Number(doc['feed_position']);
      const isDeleted = model.records.get(`customer/${customer}`)?.isDeleted === true;
      const isMasked = position <= (erasures.get(customer) ?? 0);
      if (isDeleted && !isMasked && String(doc['summary']).includes(NAME))
        throw new Violation(`${about}: ${doc._id} shows a customer who was deleted`);
      if (positions.has(position))
        throw new Violation(`${about}: position ${position} of ${storeId} was given twice`);
      if (position > Math.min(stamp.positions?.[entity] ?? 0, stamp.position ?? 0))
        throw new Violation(`${about}: ${doc._id} is ahead of its store`);
      positions.add(position);
    }
    const ranks = docs.flatMap((doc) => rankEntries(entity, doc));
    for (const { name } of Object.values(RANK_TREES).filter((tree) => tree.entity === entity)) {
      const facets = ranks.filter(({ tree }) => tree === name).map(({ facet }) => facet);
      same(
        `${about}: the tree ${name} of ${storeId}`,
        textOf(Object.entries(stamp.ranks?.[name]?.counts ?? {})),
        textOf(countsOf(facets)),
      );
    }
  }
  same(
    `${about}: the products of the categories of ${storeId}`,
    textOf(
      ofStore(CATEGORY_PRODUCTS).map(({ _id, products }) => [
        _id.slice(storeId.length + 1),
        Number(products),
      ]),
    ),
    textOf(countsOf(ofStore(COLLECTIONS.product).map(({ category_id: id }) => String(id)))),
  );
}

/** @throws {Violation} if they differ. */
function same(what: string, stored: unknown, expected: unknown): void {
  if (stored !== expected)
    throw new Violation(`${what}: ${String(stored)}, not ${String(expected)}`);
}

/** The session that a checkpoint names. */
function idOf(checkpoint: Doc): string {
  return (checkpoint['session'] as Session['id']).id;
}

function retriedIn(state: State, generation: string, partition: number): Retried[] {
  return docsOf(state, generation, RETRIES)
    .map((doc) => doc as unknown as Retried & { partition: number })
    .filter((retried) => retried.partition === partition)
    .sort((a, b) => a.position - b.position);
}

function countsOf(names: readonly string[]): [name: string, count: number][] {
  return [...Map.groupBy(names, (name) => name)].map(([name, { length }]) => [name, length]);
}

/** Nonzero counts, in the order of names. */
function textOf(counts: readonly (readonly [name: string, count?: number])[]): string {
  return counts
    .filter(([, count]) => count !== 0)
    .map(([name, count]) => `${name} ${count}`)
    .toSorted()
    .join();
}
