/** One entity of a store that is measured, as its event carries it. */
import type { EntityName, EntityStates } from '#shared/events/entities/index.ts';

export interface EntityRecord<E extends EntityName> {
  entity: E;
  id: string;
  state: EntityStates[E];
}
export type StoreRecord = { [E in EntityName]: EntityRecord<E> }[EntityName];

/** A whole store, in an order in which the projector has least to compose anew. */
export interface BenchStore {
  storeId: string;
  /** How many records it has. */
  size: number;
  /** It can be walked again; a large store's records are made by each walk, since millions of them would fill the memory. */
  records: Iterable<StoreRecord>;
  /** Orders that change when all records are there. */
  changes: readonly EntityRecord<'order'>[];
}

/** The instant of the record at a place of its store, as events carry it. */
export type Clock = (index: number) => string;

const BEGIN = Date.parse('2026-01-01T12:00:00Z');
const STEP_MS = 731_417;

/** Instants that are all different, with fractions; ten thousand of them span three months. */
export function instantAt(index: number): string {
  return new Date(BEGIN + index * STEP_MS).toISOString();
}

/** Money from cents. */
export function money(cents: number): string {
  return (cents / 100).toFixed(2);
}

/** The element at a place of a list that begins again at its end. */
export function pick<T>(list: readonly [T, ...T[]], index: number): T {
  return list[index % list.length] ?? list[0];
}
