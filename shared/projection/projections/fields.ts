/** What a projection is: the pure function from an entity's state to its read-model document. */
import type { ChangeTo } from '../../events/change.ts';
import type { EntityName, EntityStates } from '../../events/entities.ts';
import { parseInstant } from '../../events/instant.ts';
import { Address, type AddressState } from '../../events/fields.ts';
import type { Documents, Unplaced } from '../../read-models/collections.ts';
import { toLocalDateTime } from '../../read-models/local-time.ts';

export type Changed<E extends EntityName> = ChangeTo<E> & { state: EntityStates[E] };

export interface ProjectionContext {
  offset: string;
  /** Whether the customer that the entity names was deleted: then their personal data is left out. */
  customerErased: boolean;
}

/** The fields of every document: its record and version, and the offset of its date-times. */
type CommonField = '_id' | 'store_id' | 'sequence' | 'offset';

export interface Projection<E extends EntityName> {
  /** The fields of the document that not all documents have. */
  project: (change: Changed<E>, context: ProjectionContext) => Omit<Unplaced<Documents[E]>, CommonField>;
  customerOf?: (state: EntityStates[E]) => string | null;
}

/** Milliseconds of a checked date-time. */
export function instant(text: string): number {
  const milliseconds = parseInstant(text);
  if (milliseconds === null) throw new TypeError('not a checked date-time');
  return milliseconds;
}

export function local(text: string | null | undefined, offset: string): string | null {
  return text === null || text === undefined ? null : toLocalDateTime(instant(text), offset);
}

/** When a state was updated, in milliseconds since 1970: `updated_at`, else the event's own time (rule R12.4). */
export function updatedAt({ updated_at: text }: { updated_at?: string | null }, time: number): number {
  return text === null || text === undefined ? time : instant(text);
}

export function members(object: object): string {
  return JSON.stringify(object).slice(1, -1);
}

/** Some fields of a state, in this order; `null` where one is absent. */
export function shown<S extends object, K extends keyof S>(
  state: S,
  names: readonly K[],
): { [N in K]: Exclude<S[N], undefined> | null } {
  const fields = {} as { [N in K]: Exclude<S[N], undefined> | null };
  for (const name of names) fields[name] = (state[name] ?? null) as (typeof fields)[K];
  return fields;
}

const ADDRESS = Object.keys(Address.properties) as (keyof AddressState)[];

/** An address as responses show it (rule R9.15). */
export function address(state: AddressState | null | undefined) {
  return state === null || state === undefined ? null : shown(state, ADDRESS);
}
