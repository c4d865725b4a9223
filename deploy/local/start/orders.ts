/** How many orders there are in each status, as the read models count them: one small document for each store, however many orders it has. */
import type { ORDER_STATUSES } from '#shared/events/entities/order.ts';
import { STAMPS, type Stamp } from '#shared/read-models/collections.ts';
import type { Databases } from '#shared/read-models/databases.ts';
import { findLiveGeneration } from '#shared/read-models/generation.ts';
import { statusOfFacet } from '#shared/read-models/rank-tree/facets.ts';

export type OrdersByStatus = ReadonlyMap<(typeof ORDER_STATUSES)[number], number>;

/** Of all stores and environments; `null` when MongoDB does not answer. */
export async function countOrders(
  databases: Databases,
  environments: readonly string[],
): Promise<OrdersByStatus | null> {
  const counts = new Map<(typeof ORDER_STATUSES)[number], number>();
  try {
    for (const environment of environments) {
      const generation = await findLiveGeneration(databases, environment);
      const stamps = generation?.db
        .collection<Stamp>(STAMPS)
        .find({}, { projection: { 'ranks.order.counts': 1 } });
      for (const { ranks } of (await stamps?.toArray()) ?? []) {
        for (const [facet, count] of Object.entries(ranks?.order?.counts ?? {})) {
          const status = statusOfFacet(facet);
          if (status !== null) counts.set(status, (counts.get(status) ?? 0) + count);
        }
      }
    }
    return counts;
  } catch {
    return null;
  }
}
