/**
 * A sharded MongoDB (docs/sharding.md): its zones, which are the partitions of the topics of changes, and its sharded collections. What
 * is there stays; what is missing is made by commands that can be shown before.
 */
import { BSON, type Document, type MongoClient } from 'mongodb';
import { StoreDataError } from '#shared/errors.ts';
import {
  CONTROL_SHARDING,
  rangesOfPartition,
  rangesOfStore,
  type ShardKey,
  SHARDING,
  type ShardRange,
} from '#shared/read-models/sharding.ts';

/** What a cluster has. */
export interface ShardedCluster {
  shards: { name: string; zones: string[] }[];
  /** The keys of sharded collections by `<database>.<collection>`. */
  keys: ReadonlyMap<string, Document>;
  zones: PlacedRange[];
}

/** A range of a collection that belongs to a zone. */
export interface PlacedRange extends ShardRange {
  namespace: string;
  zone: string;
}

/** What an environment is to have. */
export interface ShardedEnvironment {
  /** `<prefix>.<environment>`; its zones have the number of a partition besides. */
  name: string;
  /** Of its generations, that of the next rebuild included. */
  databases: string[];
  topic: string;
  partitions: number;
  /** The partitions of the stores that are known. */
  stores: ReadonlyMap<string, number>;
}

export interface ShardCommand {
  database: string;
  command: Document;
}

/** What a cluster has, as its routers know it; `null` where the server is no router. */
export async function readCluster(client: MongoClient): Promise<ShardedCluster | null> {
  const { msg } = await client.db('admin').command({ hello: 1 });
  if (msg !== 'isdbgrid') return null;
  const config = client.db('config');
  const shards = await config.collection<{ _id: string; tags?: string[] }>('shards').find().toArray();
  const collections = await config
    .collection<{ _id: string; key: Document; unsplittable?: boolean; dropped?: boolean }>('collections')
    .find({ unsplittable: { $ne: true }, dropped: { $ne: true } })
    .toArray();
  const tags = await config
    .collection<{ ns: string; tag: string; min: ShardRange['min']; max: ShardRange['max'] }>('tags')
    .find()
    .toArray();
  return {
    shards: shards.map(({ _id: name, tags: zones = [] }) => ({ name, zones })),
    keys: new Map(collections.map(({ _id, key }) => [_id, key])),
    zones: tags.map(({ ns: namespace, tag: zone, min, max }) => ({ namespace, zone, min, max })),
  };
}

/**
 * The commands that make what is missing: first the zones, so that a collection that is empty is cut by them at once.
 * @param among the names of the shards that get the zones of partitions which are on none yet, in turn.
 * @param control the name of the control database; `null` where it lies elsewhere.
 * @throws {StoreDataError} `server_unsuitable` where a collection is sharded by another key.
 */
export function planSharding(
  cluster: ShardedCluster,
  among: readonly string[],
  control: string | null,
  environments: readonly ShardedEnvironment[],
): ShardCommand[] {
  const ranges = environments.flatMap(rangesOf);
  const tables = [
    ...(control === null ? [] : [{ database: control, table: CONTROL_SHARDING }]),
    ...environments.flatMap(({ databases }) => databases.map((database) => ({ database, table: SHARDING }))),
  ];
  return [
    ...zoneCommands(cluster, among, environments),
    ...rangeCommands(cluster, ranges),
    ...tables.flatMap(({ database, table }) =>
      Object.entries(table).flatMap(([name, { key }]) => collectionCommands(cluster, database, name, key)),
    ),
  ];
}

/**
 * Sends commands, one after the other, each for as long as it takes: a large collection gets an index. Begun again, it goes on where
 * it ended.
 */
export async function sendAll(client: MongoClient, commands: readonly ShardCommand[]): Promise<void> {
  for (const { database, command } of commands) {
    await client.db(database).command(command, { timeoutMS: 0 });
  }
}

/** A command in one line: its database, and what it is in extended JSON. */
export function commandText({ database, command }: ShardCommand): string {
  return `${database} ${BSON.EJSON.stringify(command)}`;
}

function zoneCommands(
  { shards }: ShardedCluster,
  among: readonly string[],
  environments: readonly ShardedEnvironment[],
): ShardCommand[] {
  const placed = new Set(shards.flatMap(({ zones }) => zones));
  return environments.flatMap(({ name, partitions }) =>
    Array.from({ length: partitions }, (_, partition) => ({
      zone: zoneOf(name, partition),
      addShardToZone: among[partition % among.length],
    }))
      .filter(({ zone }) => !placed.has(zone))
      .map(({ addShardToZone, zone }) => onAdmin({ addShardToZone, zone })),
  );
}

function rangesOf({ name, databases, topic, partitions, stores }: ShardedEnvironment): PlacedRange[] {
  const names = Object.keys(SHARDING) as (keyof typeof SHARDING)[];
  return databases.flatMap((database) =>
    names.flatMap((collection) => {
      const placed = (partition: number) => (range: ShardRange) => ({
        namespace: `${database}.${collection}`,
        zone: zoneOf(name, partition),
        ...range,
      });
      return [
        ...Array.from({ length: partitions }, (_, partition) =>
          rangesOfPartition(collection, topic, partition).map(placed(partition)),
        ).flat(),
        ...[...stores].flatMap(([storeId, partition]) =>
          rangesOfStore(collection, storeId).map(placed(partition)),
        ),
      ];
    }),
  );
}

function rangeCommands({ zones }: ShardedCluster, wanted: readonly PlacedRange[]): ShardCommand[] {
  const present = new Map(zones.map((range) => [placeOf(range), range.zone]));
  return wanted.flatMap((range): ShardCommand[] => {
    const { namespace: updateZoneKeyRange, min, max, zone } = range;
    const before = present.get(placeOf(range));
    if (before === zone) return [];
    const away = before === undefined ? [] : [onAdmin({ updateZoneKeyRange, min, max, zone: null })];
    return [...away, onAdmin({ updateZoneKeyRange, min, max, zone })];
  });
}

function collectionCommands(
  { keys }: ShardedCluster,
  database: string,
  collection: string,
  key: ShardKey,
): ShardCommand[] {
  const namespace = `${database}.${collection}`;
  const present = keys.get(namespace);
  if (present !== undefined) {
    if (JSON.stringify(present) === JSON.stringify(key)) return [];
    throw new StoreDataError(
      'server_unsuitable',
      `${namespace} is sharded by ${JSON.stringify(present)} instead of ${JSON.stringify(key)}: reshard it`,
    );
  }
  // A collection that has documents is sharded only if it has an index for the key.
  const indexes = [{ name: 'by_shard_key', key }];
  const isIndexed = JSON.stringify(key) === JSON.stringify({ _id: 1 });
  return [
    ...(isIndexed ? [] : [{ database, command: { createIndexes: collection, indexes } }]),
    onAdmin({ shardCollection: namespace, key }),
  ];
}

function zoneOf(environment: string, partition: number): string {
  return `${environment}.${partition}`;
}

function placeOf({ namespace, min, max }: PlacedRange): string {
  return BSON.EJSON.stringify([namespace, min, max]);
}

function onAdmin(command: Document): ShardCommand {
  return { database: 'admin', command };
}
