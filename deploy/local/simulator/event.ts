/** An event as the simulator makes it, before it is encoded for Kafka. */
import type { EntityName, EntityStates } from '#shared/events/entities/index.ts';
import { encodeEvent, type EncodedMessage } from '#shared/events/encode.ts';
import type { MenuProduct } from './menus/menu.ts';

interface EventOf<E extends EntityName> {
  entity: E;
  storeId: string;
  /** The entity's id. */
  subject: string;
  sequence: number;
  data: EntityStates[E];
}

/** Entities as a union that TypeScript narrows by `entity`. */
export type SimulatedEvent = { [E in EntityName]: EventOf<E> }[EntityName];

/** The event that one of a store's records is so now. */
export function eventOf<E extends EntityName>(
  { id: storeId }: { id: string },
  entity: E,
  subject: string,
  data: EntityStates[E],
  sequence = 1,
): SimulatedEvent {
  return { entity, storeId, subject, sequence, data } as SimulatedEvent;
}

/** The event of a product of a menu. */
export function productEvent(
  store: { id: string },
  { id, groups, ...product }: MenuProduct,
  times: { created_at: string; updated_at: string },
  sequence?: number,
): SimulatedEvent {
  const data = { ...product, option_group_ids: groups.map((group) => group.id), ...times };
  return eventOf(store, 'product', id, data, sequence);
}

/** The message that carries the event; it happened now. */
export function asMessage(event: SimulatedEvent): EncodedMessage {
  return encodeEvent({ ...event, source: `/simulator/${event.storeId}` });
}
