/** A backlog that comes all at once: events that a transaction holds back until it is committed. */
import { changesTopic } from '#shared/events/topics.ts';
import type { Installation } from '#test/installation.ts';
import { encodeEvent } from '#shared/events/encode.ts';
import { orderState } from '../projector/topic/order.ts';

const CHUNK = 1_000;
const TRANSACTION_MS = 300_000;

/** Publishes new orders of one store, which nobody can read yet. @returns a function that lets them be read. */
export async function holdBack(
  { kafka, environment }: Installation,
  store: { storeId: string; partition: number },
  events: number,
): Promise<() => Promise<void>> {
  const producer = kafka.producer({
    transactionalId: `${environment}-backlog`,
    idempotent: true,
    maxInFlightRequests: 1,
    transactionTimeout: TRANSACTION_MS,
  });
  await producer.connect();
  const transaction = await producer.transaction();
  for (let from = 0; from < events; from += CHUNK) {
    const messages = Array.from({ length: Math.min(CHUNK, events - from) }, (_, index) => ({
      ...encodeEvent({
        entity: 'order',
        storeId: store.storeId,
        subject: `late${from + index}`,
        sequence: 1,
        data: orderState(from + index, 1),
        source: '/bench',
      }),
      partition: store.partition,
    }));
    await transaction.send({ topic: changesTopic(environment), messages });
  }
  return async () => {
    await transaction.commit();
    await producer.disconnect();
  };
}
