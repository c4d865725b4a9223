/** Stores that move, and a look at how their bodies lie in the read models. */
import type { Db } from 'mongodb';
import { COLLECTIONS_WITH_BODIES } from '#shared/read-models/bodies.ts';
import { REWRITINGS } from '#shared/read-models/collections.ts';
import { eventually } from '#test/installation.ts';
import type { StreamEvent } from '#test/streams.ts';

/** A store's own record with an offset. */
export function storeEvent(storeId: string, sequence: number, timezone_offset: string): StreamEvent {
  return {
    entity: 'store',
    storeId,
    subject: storeId,
    sequence,
    time: new Date('2026-03-01T12:00:00Z'),
    data: { name: 'Pizzaria Bela', timezone_offset, created_at: '2026-03-01T12:00:00Z' },
  };
}

/** Orders `o0` to `o<count - 1>` of a store, each with several date-times. */
export function orderEvents(storeId: string, count: number, sequence = 1): StreamEvent[] {
  return Array.from({ length: count }, (_, index) => {
    const at = new Date(Date.UTC(2026, 2, 1) + index * 1_000).toISOString();
    return {
      entity: 'order',
      storeId,
      subject: `o${index}`,
      sequence,
      time: new Date(at),
      data: {
        status: 'ready',
        order_type: 'delivery',
        total: `${sequence}.00`,
        scheduled_for: at,
        status_history: [{ status: 'ready', at }],
        customer: { id: 'c1', name: 'Maria', phone: '11 9' },
        created_at: at,
      },
    };
  });
}

/** Waits until no store's bodies are left to be rewritten. */
export async function rewritten(db: Db): Promise<void> {
  await eventually(
    'all bodies are made for the present offset',
    async () => (await db.collection(REWRITINGS).countDocuments()) === 0,
  );
}

/** How many documents of a store have bodies for each offset. */
export async function offsetsIn(db: Db, storeId: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const name of COLLECTIONS_WITH_BODIES) {
    const found = db
      .collection<{ offset: string }>(name)
      .find({ store_id: storeId }, { projection: { offset: 1 } });
    for await (const { offset } of found) counts[offset] = (counts[offset] ?? 0) + 1;
  }
  return counts;
}

/** All documents with bodies, to the letter; their positions depend on the slices where customers are erased. */
export async function allWithBodies(db: Db): Promise<Record<string, unknown[]>> {
  const all: Record<string, unknown[]> = {};
  for (const name of COLLECTIONS_WITH_BODIES) {
    all[name] = await db
      .collection(name)
      .find({}, { sort: { _id: 1 }, projection: { feed_position: 0 } })
      .toArray();
  }
  return all;
}
