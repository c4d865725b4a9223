// Makes the one mongod the primary of its one-node replica set: transactions need a replica set.
import { MongoClient, MongoServerError } from 'mongodb';
import type { Db, Document } from 'mongodb';
import { retryUntil } from '../wait.ts';

/** The replica set's name, also in the URI. */
export const REPLICA_SET = 'rs0';

/** The error code of a mongod that has no replica set configuration yet. */
const NOT_YET_INITIALIZED = 94;

/** Resolves when the mongod at this host and port is primary; its data may be new or kept. */
export async function becomePrimary(
  host: string,
  port: number,
  limitMs: number,
  signal: AbortSignal,
): Promise<void> {
  // Under its own loopback address, which is right inside a container too.
  const member = `127.0.0.1:${port}`;
  await retryUntil(limitMs, signal, () => withAdmin(host, port, (admin) => configure(admin, member)));
  await retryUntil(limitMs, signal, () => withAdmin(host, port, checkPrimary));
}

/** With a client for each attempt: one whose first connection failed may never make another. */
async function withAdmin(host: string, port: number, use: (admin: Db) => Promise<void>): Promise<void> {
  const client = new MongoClient(`mongodb://${host}:${port}/?directConnection=true`, {
    serverSelectionTimeoutMS: 1_000,
    // A container's port accepts connections before the server behind it does, and such a one may stay silent.
    connectTimeoutMS: 1_000,
    socketTimeoutMS: 10_000,
  });
  try {
    await use(client.db('admin'));
  } finally {
    await client.close();
  }
}

async function configure(admin: Db, member: string): Promise<void> {
  const config = await readConfig(admin);
  if (config === undefined) {
    await admin.command({ replSetInitiate: { _id: REPLICA_SET, members: [{ _id: 0, host: member }] } });
    return;
  }
  const [known] = config['members'] as Document[];
  if (known?.['host'] === member) return;
  // Kept data of a server that listened elsewhere: it does not recognise itself and would stay out of its own set.
  const moved = { ...config, version: Number(config['version']) + 1, members: [{ ...known, host: member }] };
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

async function checkPrimary(admin: Db): Promise<void> {
  const { isWritablePrimary } = await admin.command({ hello: 1 });
  if (isWritablePrimary !== true) throw new Error('it has not become primary');
}
