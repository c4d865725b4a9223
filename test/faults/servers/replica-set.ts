/** A MongoDB replica set for one test, of one member or three. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Document, MongoClient } from 'mongodb';
import { formReplicaSet, locateMongod, REPLICA_SET } from '#local/stack/mongodb/mongodb.ts';
import { freePorts } from '#local/stack/program.ts';
import { eventually } from '#test/eventually.ts';
import { words } from '#test/words.ts';
import { makeHome } from './home.ts';
import { makeServer, onFreePorts, type Server, startAll } from './server.ts';

export type ReplicaSet = Awaited<ReturnType<typeof startOnce>>;

const READY_MS = 60_000;

interface Options {
  /** The folder of the data; a new one by default. */
  dataIn?: string;
  /** Additional arguments. */
  args?: readonly string[];
}

/**
 * Starts it and waits for its primary. All other settings are MongoDB's defaults, such as ten
 * seconds until an election.
 */
export function startReplicaSet(size: 1 | 3, options: Options = {}) {
  return onFreePorts(() => startOnce(size, options));
}

async function startOnce(size: 1 | 3, { dataIn, args = [] }: Options) {
  const home = await makeHome();
  const program = await locateMongod(home.context);
  const servers = await Promise.all(
    (await freePorts(size)).map(async (port, index) => {
      const { data, logFile } = await home.room(`mongod-${index + 1}`);
      const command = await program.prepare(dataIn ?? data, [port], logFile, { index, ports: [] });
      const whole = { ...command, args: [...command.args, ...args] };
      return makeServer(home.context.guard, whole, port, logFile);
    }),
  );
  const close = async () => {
    await Promise.all(servers.map((server) => server.kill()));
    await home.close();
  };
  const ports = servers.map(({ port }) => port);
  /** Waits until one member is primary and the others are secondaries. */
  const whole = () => formReplicaSet(ports, new AbortController().signal);
  try {
    await startAll(servers, whole);
  } catch (error) {
    await close();
    throw error;
  }
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',');
  const uri = `mongodb://${hosts}/?replicaSet=${REPLICA_SET}`;
  return { uri, servers, primary: () => findPrimary(servers), whole, close };
}

async function findPrimary(servers: Server[]): Promise<Server> {
  let found: Server | undefined;
  await eventually(
    'a member is primary',
    async () => {
      for (const server of servers.filter((one) => one.isRunning())) {
        const answer = await onServer(server, { hello: 1 }).catch(() => null);
        if (answer?.['isWritablePrimary'] === true) found = server;
      }
      return found !== undefined;
    },
    READY_MS,
  );
  return found as Server;
}

/**
 * Uses a new client per attempt: a client whose first connection failed may never connect again.
 */
async function onServer(server: Server, command: object): Promise<Document> {
  await using client = new MongoClient(
    `mongodb://127.0.0.1:${server.port}/?directConnection=true`,
    { serverSelectionTimeoutMS: 1_000, connectTimeoutMS: 1_000 },
  );
  return await client.db('admin').command({ ...command });
}

/** The argument with which members have failpoints. */
export const WITH_TEST_COMMANDS = ['--setParameter=enableTestCommands=1'];

const ATTEMPTS = 20;

/** Runs a command at one member, and tries again while that member refuses heartbeats. */
export async function commandAt(
  server: Server,
  command: object,
  attempts = ATTEMPTS,
): Promise<Document> {
  try {
    return await onServer(server, command);
  } catch (error) {
    if (attempts === 1) throw error;
    await sleep(50);
    return commandAt(server, command, attempts - 1);
  }
}

/** Every command with which the services read and write. */
export const SERVICE_COMMANDS = words(
  'find aggregate insert update delete findAndModify commitTransaction getMore',
);

/** Sets a failpoint of a member. @returns what ends it. */
export async function failPoint(
  server: Server,
  name: string,
  data: object = {},
  mode: object | 'alwaysOn' = 'alwaysOn',
) {
  const set = (more: object) => commandAt(server, { configureFailPoint: name, ...more });
  await set({ mode, data });
  return () => set({ mode: 'off' });
}
