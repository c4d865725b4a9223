/** Reads the stored state of a slice's entities within its transaction. */
import type { ClientSession, Db } from 'mongodb';
import {
  BY_ID,
  COLLECTIONS,
  documentId,
  documentsWith,
  findTombstones,
  ONE_BATCH,
  type ReadModelDocument,
  type Stamp,
  tombstoneId,
  stampsIn,
} from '../../read-models/collections.ts';
import { RANKED_FIELDS, rankEntries, type RankEntry } from '../../read-models/rank-tree/trees.ts';
import { type Place, PLACED_FIELDS, placeOf } from './layouts.ts';
import type { Chain } from './decode.ts';

export type Stored = Awaited<ReturnType<typeof readStored>>;

export async function readStored(
  db: Db,
  session: ClientSession,
  chains: ReadonlyMap<string, Chain>,
) {
  const entities = [...chains.values()].flatMap(({ entries }) => entries[0]?.change ?? []);
  const stores = new Set(entities.map(({ storeId }) => storeId));
  const found = await stampsIn(db)
    .find({ _id: { $in: [...stores] } }, { session, batchSize: ONE_BATCH })
    .toArray();
  const stamps = new Map(found.map((stamp) => [stamp._id, stamp]));
  const tombstones = await findTombstones(db, tombstoneIdsOf(chains, stamps), session);
  /** Versions of documents and tombstones, by `<entity>/<store id>/<entity id>`. */
  const sequences = new Map(tombstones.map(({ _id, sequence }) => [_id, sequence]));
  /** Where stored products and categories stand in the product list, by their keys. */
  const placed = new Map<string, Place>();
  /** Where stored documents lie in rank trees, by their keys. */
  const ranked = new Map<string, RankEntry[]>();
  for (const [entity, ofKind] of Map.groupBy(entities, (one) => one.entity)) {
    const ids = ofKind.map(({ storeId, id }) => documentId(storeId, id));
    const versions = db
      .collection<Pick<ReadModelDocument, '_id' | 'sequence'>>(COLLECTIONS[entity])
      .find(documentsWith(ids), {
        session,
        projection: { sequence: 1, ...PLACED_FIELDS, ...RANKED_FIELDS },
        hint: BY_ID,
        batchSize: ONE_BATCH,
      });
    for await (const document of versions) {
      const key = `${entity}/${document._id}`;
      sequences.set(key, document.sequence);
      const place = placeOf(entity, document);
      if (place !== null) placed.set(key, place);
      const entries = rankEntries(entity, document);
      if (entries.length > 0) ranked.set(key, entries);
    }
  }
  return {
    sequences,
    placed,
    ranked,
    tombstones: new Set(tombstones.map(({ _id }) => _id)),
    stamps,
  };
}

/** Possible tombstones, of the entities and of the customers whom they name. */
function tombstoneIdsOf(
  chains: ReadonlyMap<string, Chain>,
  stamps: ReadonlyMap<string, Stamp>,
): ReadonlySet<string> {
  const tombstoneIds = new Set<string>();
  for (const { key, entries } of chains.values()) {
    const [first] = entries;
    if (first === undefined) continue;
    const { entity, storeId } = first.change;
    const { tombstones } = stamps.get(storeId) ?? {};
    if ((tombstones?.[entity] ?? 0) > 0) tombstoneIds.add(key);
    if ((tombstones?.customer ?? 0) === 0) continue;
    for (const { change } of entries) {
      if (change.customerId !== null)
        tombstoneIds.add(tombstoneId('customer', storeId, change.customerId));
    }
  }
  return tombstoneIds;
}
