/** Small reads of several requests as one: united, in one snapshot with the stamps of their stores (decision 0026). */
import type { Document } from 'mongodb';
import type { EntityName } from '#shared/events/entities.ts';
import { COLLECTIONS, type Stamp } from '#shared/read-models/collections.ts';
import type { BatchLimits } from '../batched.ts';
import { type PageRow, shownOf } from './page.ts';
import type { View } from './shared-reads.ts';
import { readSnapshot, type Source, united, unionWithStamps } from './snapshot.ts';

/** What is read of the records of one kind. */
export interface SmallRead {
  entity: EntityName;
  /** That of the first pipeline: for the others none can be named. */
  index: string;
  /** One after the other; of JSON alone, and without a projection. */
  pipelines: readonly Document[][];
}

/** A record, or a count: where there are several, it says of which bound. */
export type SmallRow = PageRow & { count?: number; bound?: number };

export interface SmallRows {
  rows: readonly SmallRow[];
  stamp: Stamp | null;
}

/** So many of the largest pages fit into one reply. */
export const TOGETHER: BatchLimits = { underWay: 4, ids: 8 };
/** A read of more pipelines is done by itself: others would wait for it. */
const MAX_PIPELINES = 8;

/** Reads it together with what is read by the same index for other requests, whatever store they are of. */
export async function readTogether(view: View, { entity, index, pipelines }: SmallRead): Promise<SmallRows> {
  const { storeId, shared, withDeadline, redactErased } = view;
  const readAll = (source: Source, ids: readonly string[]) => readUnited(source, { entity, index, redactErased }, ids);
  const id = JSON.stringify({ storeId, pipelines });
  const read = shared.together(`${entity}/${index}/${redactErased}`, TOGETHER, (ids) => readAll(shared.source, ids));
  const isSmall = pipelines.length <= MAX_PIPELINES;
  const found = isSmall ? await withDeadline((signal) => read(id, signal)) : (await readAll(view, [id])).get(id);
  return found ?? { rows: [], stamp: null };
}

async function readUnited(
  source: Source,
  { entity, index, redactErased }: Pick<SmallRead, 'entity' | 'index'> & { redactErased: boolean },
  ids: readonly string[],
): Promise<Map<string, SmallRows>> {
  const wanted = ids.map((id) => JSON.parse(id) as Pick<SmallRead, 'pipelines'> & { storeId: string });
  const collection = COLLECTIONS[entity];
  const pipelines = wanted.flatMap((one, of) => {
    // Every row says whose it is, or a store might be shown another's.
    const fields = shownOf({ redactErased }, entity, { count: 1, bound: 1, of: { $literal: of } });
    return one.pipelines.map((pipeline) => [...pipeline, ...fields]);
  });
  const storeIds = new Set(wanted.map(({ storeId }) => storeId));
  const found = await readSnapshot<(SmallRow & { of: number }) | Stamp>(
    source,
    collection,
    [...united(collection, pipelines), unionWithStamps(...storeIds)],
    { hint: index },
  );
  const stamps = new Map(found.flatMap((row) => ('_id' in row ? [[row._id, row]] : [])));
  const rows = Map.groupBy(
    found.filter((row) => 'of' in row),
    ({ of }) => of,
  );
  return new Map(
    wanted.map(({ storeId }, of) => [ids[of] ?? '', { rows: rows.get(of) ?? [], stamp: stamps.get(storeId) ?? null }]),
  );
}
