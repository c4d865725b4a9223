/** `prepare --shard`: reads what sharded clusters have and what the environments need, for the commands that make what is missing. */
import type { Db, MongoClient } from 'mongodb';
import { commandInvalid, StoreDataError } from '#shared/errors.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import { type GenerationPointer, pointersIn, withNew } from '#shared/read-models/generation-pointer.ts';
import type { Servers } from '../connection/servers.ts';
import {
  planSharding,
  readCluster,
  type ShardCommand,
  type ShardedCluster,
  type ShardedEnvironment,
} from './sharding.ts';

export interface ShardOptions {
  /** The shards that zones are given to, as the operator named them; by default all. */
  shards: readonly string[] | null;
  dryRun: boolean;
  /** Of a topic that is not there yet. */
  partitions: number;
}

/** A sharded cluster, and what of the installation lies there. */
export interface ClusterToShard extends ShardedCluster {
  client: MongoClient;
  /** The name of the control database; `null` where it lies elsewhere. */
  control: string | null;
  environments: string[];
}

/**
 * Each sharded cluster that the installation or an environment has, before anything is changed. A dry run takes servers that are no routers
 * for clusters that have nothing yet.
 * @throws {StoreDataError} `server_unsuitable` where no server is a router, `command_invalid` for shards that a cluster does not have.
 */
export async function clustersToShard(
  servers: Servers,
  { shards, dryRun }: ShardOptions,
): Promise<ClusterToShard[]> {
  const clusters: ClusterToShard[] = [];
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
      'MONGODB_URI does not lead to a router of a sharded cluster (mongos): nothing was changed. What would be done is shown by --dry-run, with the names of the --shards',
    );
  }
  return clusters;
}

/** The commands that are missing on a cluster. */
export async function commandsToShard(
  servers: Servers,
  cluster: ClusterToShard,
  { shards, partitions }: ShardOptions,
): Promise<ShardCommand[]> {
  const wanted: ShardedEnvironment[] = [];
  for (const name of cluster.environments) wanted.push(await readEnvironment(servers, name, partitions));
  const among = shards ?? cluster.shards.map(({ name }) => name);
  return planSharding(cluster, among, cluster.control, wanted);
}

/** What lies on each MongoDB. */
async function placesOf(
  servers: Servers,
): Promise<Pick<ClusterToShard, 'client' | 'control' | 'environments'>[]> {
  const { client, databaseName } = await servers.control();
  const common = { client, control: databaseName, environments: [] as string[] };
  const places = new Map<MongoClient, Pick<ClusterToShard, 'client' | 'control' | 'environments'>>([
    [client, common],
  ]);
  for (const environment of servers.config.environments) {
    const own = (await servers.databases(environment)).clientOf(environment);
    const place = places.get(own) ?? { client: own, control: null, environments: [] };
    places.set(own, place);
    place.environments.push(environment);
  }
  return [...places.values()];
}

async function readEnvironment(
  servers: Servers,
  environment: string,
  partitions: number,
): Promise<ShardedEnvironment> {
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
    stores:
      pointer === null
        ? new Map()
        : await partitionsOfStores(databases.generation(environment, pointer.live)),
  };
}

/** The numbers of the generations, and the number that comes next. */
function generationsOf(pointer: GenerationPointer | null): number[] {
  if (pointer === null) return [1];
  const { live, others = [] } = withNew(pointer, 0);
  return [live, ...others.filter(({ state }) => state !== 'dropping').map(({ number }) => number)];
}

/** Where each store's slices came from, as its stamp says. */
async function partitionsOfStores(db: Db): Promise<Map<string, number>> {
  const stores = new Map<string, number>();
  const stamps = db
    .collection<Stamp>(STAMPS)
    .find({}, { projection: { slice_partition: 1 }, sort: { _id: 1 } });
  for await (const { _id, slice_partition: partition } of stamps) {
    if (partition !== undefined) stores.set(_id, partition);
  }
  return stores;
}
