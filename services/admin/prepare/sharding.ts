/**
 * `prepare --shard` (docs/sharding.md): plans the commands for missing zones, one for each partition of a topic of changes, and missing
 * sharded collections. What exists stays.
 */
import { BSON, type Db, type Document, type MongoClient } from 'mongodb';
import { commandInvalid, StoreDataError } from '#shared/errors.ts';
import { findTopics } from '#shared/kafka/client.ts';
import { stampsIn } from '#shared/read-models/collections.ts';
import { type GenerationPointer, pointersIn, withNew } from '#shared/read-models/generation.ts';
import {
  CONTROL_SHARDING,
  rangesOfPartition,
  rangesOfStore,
  SHARDING,
  type ShardKey,
  type ShardRange,
} from '#shared/read-models/sharding.ts';
import type { Environment, Servers } from '../servers.ts';

export interface ShardedCluster {
  shards: { name: string; zones: string[] }[];
  /** The keys of sharded collections by `<database>.<collection>`. */
  keys: ReadonlyMap<string, Document>;
  /** The ranges of collections that belong to zones. */
  zones: (ShardRange & { namespace: string; zone: string })[];
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
  const inControl = control === null ? [] : collectionCommands(cluster, control, CONTROL_SHARDING);
  const databases = environments.flatMap((environment) => environment.databases);
  return [
    ...environments.flatMap((environment) => zoneCommands(cluster, among, environment)),
    ...environments.flatMap((environment) => rangeCommands(cluster, environment)),
    ...inControl,
    ...databases.flatMap((database) => collectionCommands(cluster, database, SHARDING)),
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

function zoneCommands({ shards }: ShardedCluster, among: readonly string[], { name, partitions }: ShardedEnvironment) {
  const placed = new Set(shards.flatMap(({ zones }) => zones));
  return Array.from({ length: partitions }, (_, partition) => zoneOf(name, partition)).flatMap((zone, partition) =>
    placed.has(zone) ? [] : onAdmin({ addShardToZone: among[partition % among.length], zone }),
  );
}

function rangeCommands({ zones }: ShardedCluster, { name, databases, topic, partitions, stores }: ShardedEnvironment) {
  const placeOf = (namespace: string, { min, max }: ShardRange) => BSON.EJSON.stringify([namespace, min, max]);
  const present = new Map(zones.map(({ namespace, zone, ...range }) => [placeOf(namespace, range), zone]));
  const place = (updateZoneKeyRange: string, partition: number, range: ShardRange): ShardCommand[] => {
    const before = present.get(placeOf(updateZoneKeyRange, range));
    const zone = zoneOf(name, partition);
    if (before === zone) return [];
    const away = before === undefined ? [] : [onAdmin({ updateZoneKeyRange, ...range, zone: null })];
    return [...away, onAdmin({ updateZoneKeyRange, ...range, zone })];
  };
  const collections = Object.keys(SHARDING) as (keyof typeof SHARDING)[];
  return databases.flatMap((database) =>
    collections.flatMap((collection) => {
      const owners = [
        ...Array.from({ length: partitions }, (_, partition) => ({
          partition,
          ranges: rangesOfPartition(collection, topic, partition),
        })),
        ...[...stores].map(([id, partition]) => ({ partition, ranges: rangesOfStore(collection, id) })),
      ];
      return owners.flatMap(({ partition, ranges }) =>
        ranges.flatMap((range) => place(`${database}.${collection}`, partition, range)),
      );
    }),
  );
}

function collectionCommands(
  { keys }: ShardedCluster,
  database: string,
  table: Readonly<Record<string, { key: ShardKey }>>,
): ShardCommand[] {
  return Object.entries(table).flatMap(([collection, { key }]) => {
    const namespace = `${database}.${collection}`;
    const [present, wanted] = [keys.get(namespace), key].map((one) => JSON.stringify(one));
    if (present === wanted) return [];
    if (present !== undefined) {
      const why = `${namespace} is sharded by ${present} instead of ${wanted}: reshard it`;
      throw new StoreDataError('server_unsuitable', why);
    }
    const shard = onAdmin({ shardCollection: namespace, key });
    if (wanted === JSON.stringify({ _id: 1 })) return [shard];
    // A collection with documents needs an index for the key first.
    return [{ database, command: { createIndexes: collection, indexes: [{ name: 'by_shard_key', key }] } }, shard];
  });
}

function zoneOf(environment: string, partition: number): string {
  return `${environment}.${partition}`;
}

function onAdmin(command: Document): ShardCommand {
  return { database: 'admin', command };
}

interface ShardOptions {
  /** The shards for the zones; `null` for all. */
  shards: readonly string[] | null;
  dryRun: boolean;
  /** For a topic that does not exist yet. */
  partitions: number;
}

/**
 * The missing commands for each sharded cluster of the installation. A dry run takes other servers for empty clusters.
 * @throws {StoreDataError} `server_unsuitable` where no server is a router, `command_invalid` for shards that no cluster has.
 */
export async function planClusters(servers: Servers, { shards, dryRun, partitions }: ShardOptions) {
  const control = await servers.control();
  const environments = new Map<MongoClient, Environment[]>([[control.client, []]]);
  for (const environment of servers.environmentsOf({})) {
    const client = (await servers.databases(environment.name)).clientOf(environment.name);
    environments.set(client, [...(environments.get(client) ?? []), environment]);
  }
  const plans = [];
  const missing = new Set(shards);
  for (const [client, own] of environments) {
    const empty = { shards: (shards ?? []).map((name) => ({ name, zones: [] })), keys: new Map(), zones: [] };
    const cluster = (await readCluster(client)) ?? (dryRun && shards !== null ? empty : null);
    if (cluster === null) continue;
    const known = cluster.shards.map(({ name }) => name);
    const used = shards?.filter((name) => known.includes(name)) ?? known;
    if (used.length === 0 && own.length > 0) {
      throw commandInvalid(`--shards names no shard of a cluster that has ${known.join(', ')}`);
    }
    for (const name of used) missing.delete(name);
    // Another cluster has the control database.
    const databaseName = client === control.client ? control.databaseName : null;
    const wanted: ShardedEnvironment[] = [];
    for (const environment of own) wanted.push(await readEnvironment(environment, partitions));
    plans.push({ client, commands: planSharding(cluster, used, databaseName, wanted) });
  }
  if (plans.length === 0) {
    throw new StoreDataError(
      'server_unsuitable',
      'MONGODB_URI is no router of a sharded cluster (mongos): nothing was changed. ' +
        '--dry-run with the names of the --shards shows the commands',
    );
  }
  if (missing.size > 0) throw commandInvalid(`no cluster has the shards ${[...missing].join(', ')}`);
  return plans;
}

async function readEnvironment(environment: Environment, partitions: number): Promise<ShardedEnvironment> {
  const { servers, name, topic } = environment;
  const databases = await servers.databases(name);
  const pointer = await pointersIn(databases.control).findOne({ _id: name });
  const isThere = (await findTopics(await environment.kafkaAdmin(), [topic])).has(topic);
  return {
    name: `${servers.config.namePrefix}.${name}`,
    databases: generationsOf(pointer).map((number) => databases.generation(name, number).databaseName),
    topic,
    partitions: isThere ? (await environment.logBounds()).size : partitions,
    stores: pointer === null ? new Map() : await placeStores(databases.generation(name, pointer.live)),
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
  const known = { slice_partition: { $exists: true } };
  const stamps = await stampsIn(db).find(known, options).toArray();
  return new Map(stamps.map(({ _id, slice_partition = 0 }) => [_id, slice_partition]));
}
