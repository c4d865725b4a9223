/**
 * `prepare --shard` (docs/sharding.md): plans the commands for collections that are not sharded
 * yet. What exists stays.
 */
import { BSON, type Document } from 'mongodb';
import { StoreDataError } from '#shared/errors.ts';
import { type GenerationPointer, pointersIn, withNew } from '#shared/read-models/generation.ts';
import { CONTROL_SHARDING, SHARDING, type ShardKey } from '#shared/read-models/sharding.ts';
import type { Servers } from '../servers.ts';

export interface ShardCommand {
  database: string;
  command: Document;
}

/**
 * The missing commands for the control database, and for each environment's generations and its next rebuild. A dry run takes another
 * server for an empty cluster.
 * @throws {StoreDataError} `server_unsuitable` if the server is not a router, or a collection is sharded by another key.
 */
export async function planSharding(servers: Servers, dryRun: boolean): Promise<ShardCommand[]> {
  const databases = await servers.databases();
  const { client, control } = databases;
  const { msg } = await client.db('admin').command({ hello: 1 });
  if (msg !== 'isdbgrid' && !dryRun) {
    throw new StoreDataError(
      'server_unsuitable',
      'MONGODB_URI is not a router of a sharded cluster (mongos): nothing was changed. --dry-run shows the commands',
    );
  }
  const split = { unsplittable: { $ne: true }, dropped: { $ne: true } };
  const sharded = client
    .db('config')
    .collection<{ _id: string; key: Document }>('collections')
    .find(split);
  const keys = new Map((await sharded.toArray()).map(({ _id, key }) => [_id, key]));
  const names: string[] = [];
  for (const environment of servers.config.environments) {
    const pointer = await pointersIn(control).findOne({ _id: environment });
    names.push(
      ...generationsOf(pointer).map(
        (number) => databases.generation(environment, number).databaseName,
      ),
    );
  }
  return missingCommands(keys, control.databaseName, names);
}

/**
 * @param keys of sharded collections, by `<database>.<collection>`.
 * @param generations names of databases.
 */
export function missingCommands(
  keys: ReadonlyMap<string, Document>,
  control: string,
  generations: readonly string[],
): ShardCommand[] {
  return [
    ...collectionCommands(keys, control, CONTROL_SHARDING),
    ...generations.flatMap((name) => collectionCommands(keys, name, SHARDING)),
  ];
}

/** Without a time limit: a large collection gets an index. */
export async function sendAll(servers: Servers, commands: readonly ShardCommand[]): Promise<void> {
  const { client } = await servers.databases();
  for (const { database, command } of commands) {
    await client.db(database).command(command, { timeoutMS: 0 });
  }
}

/** A command in one line: its database, and the command in extended JSON. */
export function commandText({ database, command }: ShardCommand): string {
  return `${database} ${BSON.EJSON.stringify(command)}`;
}

function collectionCommands(
  keys: ReadonlyMap<string, Document>,
  database: string,
  table: Readonly<Record<string, ShardKey>>,
): ShardCommand[] {
  return Object.entries(table).flatMap(([collection, key]) => {
    const namespace = `${database}.${collection}`;
    const [present, wanted] = [keys.get(namespace), key].map((one) => JSON.stringify(one));
    if (present === wanted) return [];
    if (present !== undefined) {
      const why = `${namespace} is sharded by ${present} instead of ${wanted}: reshard it`;
      throw new StoreDataError('server_unsuitable', why);
    }
    const shard = { database: 'admin', command: { shardCollection: namespace, key } };
    if (wanted === JSON.stringify({ _id: 1 })) return [shard];
    // A collection with documents needs an index for the key first.
    return [
      {
        database,
        command: { createIndexes: collection, indexes: [{ name: 'by_shard_key', key }] },
      },
      shard,
    ];
  });
}

/** The numbers of the generations, and the next number. */
function generationsOf(pointer: GenerationPointer | null): number[] {
  if (pointer === null) return [1];
  const { live, others = [] } = withNew(pointer, 0);
  return [live, ...others.filter(({ state }) => state !== 'dropping').map(({ number }) => number)];
}
