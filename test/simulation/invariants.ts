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
import { readerOf, type Session, type State } from './store.ts';

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

export class Invariants {
  /** All messages that were ever published to a partition, even lost ones. */
  readonly #history: (partition: number) => readonly Entry[];
  readonly #partitionOf: (storeId: string) => number;
  /** Whether an operator decided to skip the damaged batch at an offset. */
  readonly #isSkipped: (partition: number, from: number) => boolean;
  /** By `<generation>/<partition>`. */
  readonly #followed = new Map<string, Followed>();

  constructor(
    history: (partition: number) => readonly Entry[],
    partitionOf: (storeId: string) => number,
    isSkipped: (partition: number, from: number) => boolean,
  ) {
    this.#history = history;
    this.#partitionOf = partitionOf;
    this.#isSkipped = isSkipped;
  }

  /** Checks the changes of a commit. @throws {Violation} */
  check(
    before: State,
    after: State,
    session: Session['id'] | null,
    ended: ReadonlySet<string>,
  ): void {
    for (const [name, documents] of after) {
      const [generation = '', collection] = name.split('/');
      if (collection !== CHECKPOINTS || documents === before.get(name)) continue;
      for (const [id, { doc }] of documents) {
        const was = before.get(name)?.get(id)?.doc['position'];
        if (doc['position'] === was) continue;
        const owner = doc['session'] as Session['id'];
        if (was !== undefined && owner.id !== session?.id)
          throw new Violation(
            `${name}/${id}: it was moved by ${session?.id ?? 'nobody'}, not by its owner`,
          );
        if (!ended.has(`${generation}/${String(doc['partition'])}`)) {
          this.#checkPartition(
            after,
            generation,
            Number(doc['partition']),
            Number(doc['position']),
          );
        }
      }
    }
    this.#checkSession(before, after, session);
    for (const [name, documents] of after) {
      const [generation = '', collection] = name.split('/');
      if (collection === RETRIES && documents !== before.get(name))
        this.checkAll(after, generation, ended);
    }
    for (const [name, documents] of after) {
      if (documents === before.get(name) || !name.endsWith(`/${STAMPS}`)) continue;
      for (const [id, { doc }] of documents) {
        const was = Number(before.get(name)?.get(id)?.doc['position'] ?? 0);
        if (Number(doc['position'] ?? 0) < was)
          throw new Violation(`${name}/${id}: its position went back`);
      }
    }
  }

  /**
   * A transaction runs in a session that a checkpoint names, or a claim could not end it: but for
   * the operator's.
   */
  #checkSession(before: State, after: State, session: Session['id'] | null): void {
    const changed = [...after]
      .filter(([name, documents]) => documents !== before.get(name))
      .map(([name]) => name);
    if (session === null || changed.some((name) => name.endsWith(`/${RETRIES}`))) return;
    for (const generation of new Set(changed.map((name) => name.slice(0, name.indexOf('/'))))) {
      const checkpoints = [...(after.get(`${generation}/${CHECKPOINTS}`)?.values() ?? [])];
      if (checkpoints.some(({ doc }) => (doc['session'] as Session['id']).id === session.id))
        continue;
      throw new Violation(
        `${generation}: it was written in ${session.id}, a session that no checkpoint names`,
      );
    }
  }

  /** Checks all of a generation. @throws {Violation} */
  checkAll(state: State, generation: string, ended: ReadonlySet<string>): void {
    for (const { doc } of state.get(`${generation}/${CHECKPOINTS}`)?.values() ?? []) {
      if (ended.has(`${generation}/${String(doc['partition'])}`)) continue;
      this.#checkPartition(state, generation, Number(doc['partition']), Number(doc['position']));
    }
  }

  /** Checks every node of every rank tree. @throws {Violation} */
  async checkTrees(state: State, generation: string): Promise<void> {
    const db = readerOf(state, generation) as unknown as Db;
    for (const { doc } of state.get(`${generation}/${STAMPS}`)?.values() ?? []) {
      for (const tree of Object.values(RANK_TREES)) {
        const transaction = { db, session: {} as ClientSession, tree, storeId: doc._id };
        await verifyTree(transaction, doc as unknown as Stamp, (what, stored, counted) => {
          if (stored === counted) return;
          throw new Violation(
            `${generation}: ${what} of the tree ${tree.name} of ${doc._id} is ${stored}, not ${counted}`,
          );
        });
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
    model.apply(this.#history(partition), from, position, isKnown ? [] : retried);
    this.#followed.set(key, { model, position, retries });
    const about = `${key} at ${position}`;
    for (const { from: at, unreadable } of this.#history(partition)) {
      if (unreadable === null || !isDamaged(unreadable) || at >= position) continue;
      if (!this.#isSkipped(partition, at))
        throw new Violation(`${about}: it has passed the damaged batch at ${at}`);
    }
    const isOurs = (doc: Doc) => this.#partitionOf(String(doc['store_id'])) === partition;
    const of = (collection: string) =>
      [...(state.get(`${generation}/${collection}`)?.values() ?? [])]
        .map(({ doc }) => doc)
        .filter(isOurs);
    const found = new Map<string, string>();
    for (const entity of ENTITIES) {
      for (const doc of of(COLLECTIONS[entity]))
        found.set(`${entity}/${doc._id}`, String(doc['sequence']));
    }
    for (const doc of of(TOMBSTONES)) {
      if (found.has(doc._id)) throw new Violation(`${about}: ${doc._id} is stored and deleted`);
      found.set(doc._id, `${String(doc['sequence'])} deleted`);
    }
    for (const [id, { sequence, isDeleted }] of model.records) {
      const expected = isDeleted ? `${sequence} deleted` : String(sequence);
      if (found.get(id) !== expected)
        throw new Violation(`${about}: ${id} is ${found.get(id) ?? 'missing'}, not ${expected}`);
    }
    if (found.size !== model.records.size)
      throw new Violation(`${about}: there are ${found.size} records, not ${model.records.size}`);
    this.#checkStamps(of(STAMPS), of, model, about);
    const letters = [...(state.get(`${generation}/${DEAD_LETTERS}`)?.values() ?? [])].filter(
      ({ doc }) => doc['topic'] === TOPIC && doc['partition'] === partition,
    );
    if (letters.length !== model.letters)
      throw new Violation(`${about}: ${letters.length} dead letters, not ${model.letters}`);
  }

  #checkStamps(
    stamps: readonly Doc[],
    of: (collection: string) => Doc[],
    model: Model,
    about: string,
  ): void {
    const erasures = of(ERASURES);
    const categories = (docs: readonly Doc[], products: (doc: Doc) => number) => {
      const counts: Record<string, number> = {};
      for (const doc of docs)
        counts[String(doc['category_id'])] =
          (counts[String(doc['category_id'])] ?? 0) + products(doc);
      return textOf(counts);
    };
    for (const stamp of stamps as unknown as readonly Stamp[]) {
      const storeId = stamp._id;
      const positions = new Set<unknown>();
      for (const entity of ENTITIES) {
        const effects = model.effects.get(`${storeId}/${entity}`) ?? 0;
        if ((stamp[entity] ?? 0) !== effects) {
          throw new Violation(
            `${about}: ${effects} events of ${storeId}/${entity} took effect, its stamp says ${stamp[entity] ?? 0}`,
          );
        }
        const docs = of(COLLECTIONS[entity]).filter((doc) => doc['store_id'] === storeId);
        if ((stamp.counts?.[entity] ?? 0) !== docs.length) {
          throw new Violation(
            `${about}: ${storeId} has ${docs.length} of ${entity}, its stamp says ${stamp.counts?.[entity] ?? 0}`,
          );
        }
        for (const doc of docs) {
          const customer = model.records.get(`customer/${storeId}/${String(doc['customer_id'])}`);
          const erasure = erasures.find(
            ({ _id }) => _id === `${storeId}/${String(doc['customer_id'])}`,
          );
          const isMasked = Number(doc['feed_position']) <= Number(erasure?.['position'] ?? 0);
          if (customer?.isDeleted === true && !isMasked && String(doc['summary']).includes(NAME)) {
            throw new Violation(`${about}: ${doc._id} shows a customer who was deleted`);
          }
          const position = doc['feed_position'];
          if (Number(position) > (stamp.positions?.[entity] ?? 0))
            throw new Violation(`${about}: ${doc._id} is ahead of the ${entity}s of its store`);
          if (positions.has(position))
            throw new Violation(
              `${about}: position ${String(position)} of ${storeId} was given twice`,
            );
          if (Number(position) > (stamp.position ?? 0))
            throw new Violation(`${about}: ${doc._id} is ahead of its store`);
          positions.add(position);
        }
        this.#checkTrees(stamp, entity, docs, about);
      }
      const ofStore = (doc: Doc) => doc['store_id'] === storeId;
      const counted = of(CATEGORY_PRODUCTS)
        .filter(ofStore)
        .map((doc) => ({ ...doc, category_id: doc._id.slice(storeId.length + 1) }));
      const [stored, expected] = [
        categories(counted, (doc) => Number(doc['products'])),
        categories(of(COLLECTIONS.product).filter(ofStore), () => 1),
      ];
      if (stored !== expected) {
        throw new Violation(
          `${about}: the categories of ${storeId} have ${stored} products, not ${expected}`,
        );
      }
    }
  }

  #checkTrees(stamp: Stamp, entity: EntityName, docs: readonly Doc[], about: string): void {
    for (const { name } of Object.values(RANK_TREES).filter((tree) => tree.entity === entity)) {
      const counts: Record<string, number> = {};
      for (const { tree, facet } of docs.flatMap((doc) => rankEntries(entity, doc))) {
        if (tree === name) counts[facet] = (counts[facet] ?? 0) + 1;
      }
      const stored = textOf(stamp.ranks?.[name]?.counts ?? {});
      const expected = textOf(counts);
      if (stored !== expected) {
        throw new Violation(
          `${about}: the tree ${name} of ${stamp._id} counts ${stored}, not ${expected}`,
        );
      }
    }
  }
}

function retriedIn(state: State, generation: string, partition: number): Retried[] {
  return [...(state.get(`${generation}/${RETRIES}`)?.values() ?? [])]
    .map(({ doc }) => doc as unknown as Retried & { partition: number })
    .filter((retried) => retried.partition === partition)
    .sort((a, b) => a.position - b.position);
}

/** Nonzero counts, in the order of facets. */
function textOf(counts: Partial<Record<string, number>>): string {
  const facets = Object.keys(counts)
    .toSorted()
    .filter((facet) => counts[facet] !== 0);
  return facets.map((facet) => `${facet} ${counts[facet]}`).join(', ');
}
