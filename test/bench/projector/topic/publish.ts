/** Publishing orders before they are measured. */
import { changesTopic } from '#shared/events/topics.ts';
import type { Installation, RawMessage } from '#test/installation.ts';
import { progressOf } from '../../progress.ts';
import type { Say } from '../../say.ts';
import { orderMessage, PARTITIONS, placeOf } from './messages.ts';

const CHUNK = 2_000;

export interface Published {
  /** In all partitions, both versions. */
  events: number;
  /** Where the changes begin in each partition. */
  boundaries: number[];
  /** Of the messages' values, in the middle. */
  bytesPerEvent: number;
}

/** Publishes every order as created, then every order as changed. */
export async function publishOrders(
  { send, environment }: Installation,
  orders: number,
  say: Say,
): Promise<Published> {
  const topic = changesTopic(environment);
  const tell = progressOf(say, 'published', 2 * orders);
  let bytes = 0;
  for (const version of [1, 2]) {
    for (let from = 0; from < orders; from += CHUNK) {
      const messages: RawMessage[] = [];
      for (let index = from; index < Math.min(orders, from + CHUNK); index += 1) {
        const message = orderMessage(index, version);
        bytes += Buffer.byteLength(message.value ?? '');
        messages.push(message);
      }
      await send(topic, messages);
      tell((version - 1) * orders + from);
    }
  }
  const boundaries = Array.from({ length: PARTITIONS }, () => 0);
  for (let index = 0; index < orders; index += 1) {
    const { partition } = placeOf(index);
    boundaries[partition] = (boundaries[partition] ?? 0) + 1;
  }
  return { events: 2 * orders, boundaries, bytesPerEvent: Math.round(bytes / (2 * orders)) };
}

/** So many orders come again and again, each time in a later version: making messages is the slow part. */
const DIFFERENT = 20_000;
const PLACEHOLDER = 7_777_777_777;

/** Publishes so many events that no process can hold them. */
export async function publishBacklog(
  { send, environment }: Installation,
  events: number,
  say: Say,
): Promise<void> {
  const topic = changesTopic(environment);
  const tell = progressOf(say, 'published', events);
  const orders = Array.from({ length: DIFFERENT }, (_, index) => orderMessage(index, PLACEHOLDER));
  const inVersion = ({ value, ...message }: RawMessage, version: number): RawMessage => ({
    ...message,
    value: String(value).replace(`"${PLACEHOLDER}"`, `"${version}"`),
  });
  for (let from = 0; from < events; from += CHUNK) {
    const version = 1 + Math.floor(from / DIFFERENT);
    const begin = from % DIFFERENT;
    const chunk = orders.slice(begin, begin + Math.min(CHUNK, events - from));
    await send(
      topic,
      chunk.map((message) => inVersion(message, version)),
    );
    tell(from);
  }
}
