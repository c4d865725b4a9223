/** A MongoDB replica set for one test, of one member or three. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { formReplicaSet, locateMongod, REPLICA_SET } from '#local/stack/mongodb/mongodb.ts';
import { freePorts } from '#local/stack/program.ts';
import { words } from '#test/words.ts';
import { makeHome } from './home.ts';
import { makeServer, onFreePorts, type Server, startAll } from './server.ts';

export interface ReplicaSet {
  uri: string;
  servers: Server[];
  primary: () => Promise<Server>;
  /** Waits until one member is primary and the others are secondaries. */
  whole: () => Promise<void>;
  close: () => Promise<void>;
}

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
export function startReplicaSet(size: 1 | 3, options: Options = {}): Promise<ReplicaSet> {
  return onFreePorts(() => startOnce(size, options));
}

async function startOnce(size: 1 | 3, { dataIn, args = [] }: Options): Promise<ReplicaSet> {
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
  const primary = () => findPrimary(servers);
  const ports = servers.map(({ port }) => port);
  const whole = () => formReplicaSet(ports, new AbortController().signal);
  try {
    await startAll(servers, whole);
  } catch (error) {
    await close();
    throw error;
  }
  const hosts = servers.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return { uri: `mongodb://${hosts}/?replicaSet=${REPLICA_SET}`, servers, primary, whole, close };
}

async function findPrimary(servers: Server[]): Promise<Server> {
  return until(async () => {
    for (const server of servers.filter((one) => one.isRunning())) {
      const answer = await onServer(server, { hello: 1 }).catch(() => null);
      if (answer?.['isWritablePrimary'] === true) return server;
    }
    throw new Error('no member is primary');
  });
}

async function until<T>(attempt: () => Promise<T>): Promise<T> {
  for (const end = Date.now() + READY_MS; ; await sleep(50)) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
  }
}

/**
 * Uses a new client per attempt: a client whose first connection failed may never connect again.
 */
async function onServer(server: Server, command: object): Promise<Record<string, unknown>> {
  const client = new MongoClient(`mongodb://127.0.0.1:${server.port}/?directConnection=true`, {
    serverSelectionTimeoutMS: 1_000,
    connectTimeoutMS: 1_000,
  });
  try {
    return await client.db('admin').command({ ...command });
  } finally {
    await client.close();
  }
}

/** The argument with which members have failpoints. */
export const WITH_TEST_COMMANDS = ['--setParameter=enableTestCommands=1'];

const ATTEMPTS = 20;

/** Runs a command at one member, and tries again while that member refuses heartbeats. */
export async function commandAt(server: Server, command: object): Promise<Record<string, unknown>> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await onServer(server, command);
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
      await sleep(50);
    }
  }
}

/** Every command with which the services read and write. */
export const SERVICE_COMMANDS = words(
  'find aggregate insert update delete findAndModify commitTransaction getMore',
);

/** The command that sets a failpoint, or ends it by the mode `off`. */
export function failPoint(name: string, mode: object | 'alwaysOn' | 'off', data?: object): object {
  return { configureFailPoint: name, mode, ...(data === undefined ? {} : { data }) };
}
