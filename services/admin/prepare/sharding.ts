/**
 * `prepare --shard` (docs/sharding.md): plans the commands for missing zones, one for each partition of a topic of changes, and missing
 * sharded collections. What exists stays.
 */
import { BSON, type Db, type Document, type MongoClient } from 'mongodb';
import { commandInvalid, StoreDataError } from '#shared/errors.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import { type GenerationPointer, pointersIn, withNew } from '#shared/read-models/generation.ts';
import {
  CONTROL_SHARDING,
  rangesOfPartition,
  rangesOfStore,
  SHARDING,
  type ShardKey,
  type ShardRange,
} from '#shared/read-models/sharding.ts';
import type { Servers } from '../servers.ts';

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

export interface ShardedEnvironment {
  /** `<prefix>.<environment>`; a zone's name is that and the number of its partition. */
  name: string;
  /** Of its generations and of the next rebuild. */
  databases: string[];
  topic: string;
  partitions: number;
  /** The partitions of the known stores. */
  stores: ReadonlyMap<string, number>;
}

export interface ShardCommand {
  database: string;
  command: Document;
}

/** Reads the configuration of a cluster; `null` where the server is no router. */
export async function readCluster(client: MongoClient): Promise<ShardedCluster | null> {
  const { msg } = await client.db('admin').command({ hello: 1 });
  if (msg !== 'isdbgrid') return null;
  const config = client.db('config');
  const read = <D extends Document>(name: string, filter: Document = {}) =>
    config.collection(name).find<D>(filter).toArray();
  const shards = await read<{ _id: string; tags?: string[] }>('shards');
  const split = { unsplittable: { $ne: true }, dropped: { $ne: true } };
  const collections = await read<{ _id: string; key: Document }>('collections', split);
  const tags = await read<ShardRange & { ns: string; tag: string }>('tags');
  return {
    shards: shards.map(({ _id: name, tags: zones = [] }) => ({ name, zones })),
    keys: new Map(collections.map(({ _id, key }) => [_id, key])),
    zones: tags.map(({ ns: namespace, tag: zone, min, max }) => ({ namespace, zone, min, max })),
  };
}

/**
 * The missing commands: first the zones, so that an empty collection is split by them at once.
 * @param among the shards that get the missing zones in turn.
 * @param control the name of the control database; `null` where another cluster has it.
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

/** Without a time limit: a large collection gets an index. */
export async function sendAll(client: MongoClient, commands: readonly ShardCommand[]): Promise<void> {
  for (const { database, command } of commands) {
    await client.db(database).command(command, { timeoutMS: 0 });
  }
}

/** A command in one line: its database, and the command in extended JSON. */
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
      const placed = (partition: number, ranges: readonly ShardRange[]) =>
        ranges.map((range) => ({
          namespace: `${database}.${collection}`,
          zone: zoneOf(name, partition),
          ...range,
        }));
      return [
        ...Array.from({ length: partitions }, (_, partition) =>
          placed(partition, rangesOfPartition(collection, topic, partition)),
        ).flat(),
        ...[...stores].flatMap(([id, partition]) => placed(partition, rangesOfStore(collection, id))),
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
  // A collection with documents needs an index for the key first.
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

export interface ShardOptions {
  /** The shards for the zones; `null` for all. */
  shards: readonly string[] | null;
  dryRun: boolean;
  /** For a topic that does not exist yet. */
  partitions: number;
}

/** A MongoDB, and the parts of the installation that it has. */
interface PlaceToShard {
  client: MongoClient;
  /** The name of the control database; `null` where another cluster has it. */
  control: string | null;
  environments: string[];
}

/**
 * The sharded clusters of the installation and its environments. A dry run takes other servers for empty clusters.
 * @throws {StoreDataError} `server_unsuitable` where no server is a router, `command_invalid` for shards that a cluster does not have.
 */
export async function clustersToShard(servers: Servers, { shards, dryRun }: ShardOptions) {
  const clusters: (PlaceToShard & ShardedCluster)[] = [];
  for (const place of await placesOf(servers)) {
    const found = await readCluster(place.client);
    const cluster = found ?? (dryRun && shards !== null ? { shards: [], keys: new Map(), zones: [] } : null);
    if (cluster === null) continue;
    const known = new Set(found?.shards.map(({ name }) => name) ?? shards);
    const unknown = shards?.filter((name) => !known.has(name)) ?? [];
    if (unknown.length > 0) {
      throw commandInvalid(`the cluster has no shard ${unknown.join(', ')}; it has ${[...known].join(', ')}`);
    }
    clusters.push({ ...place, ...cluster });
  }
  if (clusters.length === 0) {
    throw new StoreDataError(
      'server_unsuitable',
      'MONGODB_URI is no router of a sharded cluster (mongos): nothing was changed. ' +
        '--dry-run with the names of the --shards shows the commands',
    );
  }
  return clusters;
}

export async function planClusters(servers: Servers, options: ShardOptions) {
  const plans: { client: MongoClient; commands: ShardCommand[] }[] = [];
  for (const cluster of await clustersToShard(servers, options)) {
    const wanted: ShardedEnvironment[] = [];
    for (const name of cluster.environments) {
      wanted.push(await readEnvironment(servers, name, options.partitions));
    }
    const among = options.shards ?? cluster.shards.map(({ name }) => name);
    const { client, control } = cluster;
    plans.push({ client, commands: planSharding(cluster, among, control, wanted) });
  }
  return plans;
}

async function placesOf(servers: Servers): Promise<PlaceToShard[]> {
  const { client, databaseName } = await servers.control();
  const common: PlaceToShard = { client, control: databaseName, environments: [] };
  const places = new Map([[client, common]]);
  for (const environment of servers.config.environments) {
    const own = (await servers.databases(environment)).clientOf(environment);
    const place = places.get(own) ?? { client: own, control: null, environments: [] };
    places.set(own, place);
    place.environments.push(environment);
  }
  return [...places.values()];
}

async function readEnvironment(servers: Servers, environment: string, partitions: number): Promise<ShardedEnvironment> {
  const databases = await servers.databases(environment);
  const pointer = await pointersIn(databases.control).findOne({ _id: environment });
  const topic = changesTopic(environment);
  const admin = await servers.kafkaOf(topic).admin();
  const isThere = (await admin.listTopics()).includes(topic);
  return {
    name: `${servers.config.namePrefix}.${environment}`,
    databases: generationsOf(pointer).map((number) => databases.generation(environment, number).databaseName),
    topic,
    partitions: isThere ? (await admin.fetchTopicOffsets(topic)).length : partitions,
    stores: pointer === null ? new Map() : await placeStores(databases.generation(environment, pointer.live)),
  };
}

/** The numbers of the generations, and the next number. */
function generationsOf(pointer: GenerationPointer | null): number[] {
  if (pointer === null) return [1];
  const { live, others = [] } = withNew(pointer, 0);
  return [live, ...others.filter(({ state }) => state !== 'dropping').map(({ number }) => number)];
}

/** The partition of each store, from its stamp. */
async function placeStores(db: Db): Promise<Map<string, number>> {
  const options = { projection: { slice_partition: 1 }, sort: { _id: 1 } } as const;
  const stamps = await db.collection<Stamp>(STAMPS).find({}, options).toArray();
  const known = stamps.filter(({ slice_partition }) => slice_partition !== undefined);
  return new Map(known.map(({ _id, slice_partition = 0 }) => [_id, slice_partition]));
}
