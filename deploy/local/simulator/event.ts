/** An event as the simulator makes it, and the message that carries it. */
import type { EntityName, EntityStates } from '#shared/events/entities/index.ts';
import { encodeEvent, type EncodedMessage } from '#shared/events/encode.ts';

/** A union that TypeScript narrows by `entity`; `subject` is the entity's id. */
export type SimulatedEvent = {
  [E in EntityName]: { entity: E; storeId: string; subject: string; sequence: number; data: EntityStates[E] };
}[EntityName];

/** The event that one of a store's records is so now. */
export function eventOf<E extends EntityName>(
  store: { id: string },
  entity: E,
  subject: string,
  data: EntityStates[E],
  sequence = 1,
): SimulatedEvent {
  return { entity, storeId: store.id, subject, sequence, data } as SimulatedEvent;
}

/** The message that carries the event; it happened now. */
export function asMessage(event: SimulatedEvent): EncodedMessage {
  return encodeEvent({ ...event, source: `/simulator/${event.storeId}` });
}
