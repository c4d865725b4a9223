// Makes a replica set of one mongod, or of several: transactions need a replica set.
import { MongoClient, MongoServerError } from 'mongodb';
import type { Db, Document } from 'mongodb';
import { retryUntil } from '../wait.ts';

/** The replica set's name, also in the URI. */
export const REPLICA_SET = 'rs0';

/** The error code of a mongod that has no replica set configuration yet. */
const NOT_YET_INITIALIZED = 94;

/** Resolves when one of the members at this host is primary and the others follow. The data of one alone may be kept. */
export async function formReplicaSet(
  host: string,
  ports: readonly number[],
  limitMs: number,
  signal: AbortSignal,
): Promise<void> {
  const [first = 0] = ports;
  // Under their own loopback addresses, which is right inside a container too.
  const members = ports.map((port, _id) => ({ _id, host: `127.0.0.1:${port}` }));
  await retryUntil(limitMs, signal, () => withAdmin(host, first, (admin) => configure(admin, members)));
  await retryUntil(limitMs, signal, async () => {
    const states = await Promise.all(ports.map((port) => withAdmin(host, port, stateOf)));
    if (!states.includes('primary')) throw new Error('none has become primary');
    if (states.includes('other')) throw new Error('not all follow the primary');
  });
}

/** With a client for each attempt: one whose first connection failed may never make another. */
async function withAdmin<T>(host: string, port: number, use: (admin: Db) => Promise<T>): Promise<T> {
  const client = new MongoClient(`mongodb://${host}:${port}/?directConnection=true`, {
    serverSelectionTimeoutMS: 1_000,
    // A container's port accepts connections before the server behind it does, and such a one may stay silent.
    connectTimeoutMS: 1_000,
    socketTimeoutMS: 10_000,
  });
  try {
    return await use(client.db('admin'));
  } finally {
    await client.close();
  }
}

interface Member {
  _id: number;
  host: string;
}

async function configure(admin: Db, members: readonly Member[]): Promise<void> {
  const config = await readConfig(admin);
  if (config === undefined) {
    await admin.command({ replSetInitiate: { _id: REPLICA_SET, members } });
    return;
  }
  const known = config['members'] as Document[];
  if (known.every(({ host }, index) => host === members[index]?.host)) return;
  // Kept data of a server that listened elsewhere: it does not recognise itself and would stay out of its own set.
  const moved = {
    ...config,
    version: Number(config['version']) + 1,
    members: known.map((one, index) => ({ ...one, ...members[index] })),
  };
  await admin.command({ replSetReconfig: moved, force: true });
}

async function readConfig(admin: Db): Promise<Document | undefined> {
  try {
    const { config } = await admin.command({ replSetGetConfig: 1 });
    return config as Document;
  } catch (error) {
    if (error instanceof MongoServerError && error.code === NOT_YET_INITIALIZED) return undefined;
    throw error;
  }
}

async function stateOf(admin: Db): Promise<'primary' | 'secondary' | 'other'> {
  const { isWritablePrimary, secondary } = await admin.command({ hello: 1 });
  if (isWritablePrimary === true) return 'primary';
  return secondary === true ? 'secondary' : 'other';
}
