/** An event as the simulator makes it, before it is encoded for Kafka. */
import type { EntityName, EntityStates } from '#shared/events/entities/index.ts';
import { encodeEvent, type EncodedMessage } from '#shared/events/encode.ts';

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

/** The message that carries the event; it happened now. */
export function asMessage(event: SimulatedEvent): EncodedMessage {
  return encodeEvent({ ...event, source: `/simulator/${event.storeId}` });
}
