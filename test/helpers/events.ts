/** Valid events; a test sets only the fields that it is about. */
import type { KafkaMessage } from 'kafkajs';
import { hashSecret } from '#shared/access/secrets.ts';
import type { EntityName } from '#shared/events/entities.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import { type EncodedMessage, encodeEvent, type EventToEncode } from '#shared/events/topics.ts';

export type TestEvent = Omit<EventToEncode, 'source'>;

export interface TestChange {
  entity: EntityName;
  storeId: string;
  id: string;
  /** Absent for a deletion. */
  data?: object;
  /** The time of the event in ISO 8601; by default now. */
  time?: string;
}

/** The required data of an order. */
export const ORDER = {
  status: 'pending',
  order_type: 'delivery',
  total: '1.00',
  created_at: '2026-03-01T12:00:00Z',
};

/** An order of the store `s1`; `over` replaces attributes, and extends its data. */
export function orderEvent(
  subject: string,
  { data, ...over }: Partial<Omit<TestEvent, 'data'>> & { data?: object } = {},
): TestEvent & { data: object } {
  return {
    entity: 'order',
    storeId: 's1',
    subject,
    sequence: 1,
    ...over,
    data: { ...ORDER, ...data },
  };
}

export function orderMessage(
  subject: string,
  over: Parameters<typeof orderEvent>[1] = {},
): EncodedMessage {
  return encodeEvent({ source: '/test', ...orderEvent(subject, over) });
}

/** An active key of the store `s1` with the scope `order` and the secret `secret`. */
export function keyEvent(
  subject: string,
  sequence: number,
  data: object = {},
): TestEvent & { data: object } {
  const defaults = { secret_sha256: [hashSecret('secret')], scopes: ['order'], status: 'active' };
  return { entity: 'access_key', storeId: 's1', subject, sequence, data: { ...defaults, ...data } };
}

/** Blocks or unblocks a store. */
export function storeAccessEvent(
  storeId: string,
  sequence: number,
  status: 'active' | 'blocked',
): TestEvent {
  return { entity: 'store_access', storeId, subject: storeId, sequence, data: { status } };
}

/** The event of a change or deletion. */
export function changeEvent(
  { id: subject, data, time, ...others }: TestChange,
  sequence: number,
): TestEvent {
  const action = data === undefined ? 'deleted' : 'changed';
  const when = time === undefined ? {} : { time: new Date(time) };
  return { ...others, action, subject, sequence, data, ...when };
}

/** An event as a message from Kafka. */
export function received(
  event: TestEvent,
): Pick<KafkaMessage, 'key' | 'value'> & Pick<EncodedMessage, 'headers'> {
  const { key, value, headers } = encodeEvent({ source: '/test', ...event });
  return { key: Buffer.from(key), value: Buffer.from(value), headers };
}

/** The rejection of an event that a function reads; `null` if it accepts the event. */
export function rejectionOf(read: () => unknown): EventRejected | null {
  try {
    read();
    return null;
  } catch (error) {
    if (error instanceof EventRejected) return error;
    throw error;
  }
}

/** A message as a consumer gets it, of an event or any text. */
export function kafkaMessage(event: TestEvent | string, offset: number): KafkaMessage {
  const place = { offset: String(offset), timestamp: '0', attributes: 0 };
  const { key, value, headers } =
    typeof event === 'string'
      ? { key: Buffer.from('s1'), value: Buffer.from(event), headers: {} }
      : received(event);
  return { key, value, headers, ...place };
}
