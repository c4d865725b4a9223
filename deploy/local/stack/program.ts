// Finds programs of this machine, and starts a server on free ports, or the servers of a cluster,
// as programs; waits until they serve.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import {
  awaitPort,
  LOOPBACK,
  reasonOf,
  StackError,
  type LocatedProgram,
  type PartDefinition,
  type StartContext,
} from './part.ts';
import { lastLines, type PartExit, startGuarded } from './process.ts';

export function findOnPath(name: string, env: NodeJS.ProcessEnv): string | undefined {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** `flag` prints the version, which `pattern` finds. */
export interface ProgramKind {
  name: string;
  flag: string;
  pattern: RegExp;
  /** The oldest suitable major version. */
  oldest: number;
}

/** The first program that is new enough; older ones are logged. */
export async function findInstalled(
  places: readonly (readonly [place: string, file: string | undefined])[],
  { name, flag, pattern, oldest }: ProgramKind,
  { env, log }: StartContext,
): Promise<string | undefined> {
  for (const [place, file] of places) {
    if (file === undefined) continue;
    const printed = await promisify(execFile)(file, [flag], { env, timeout: 10_000 }).catch(
      () => null,
    );
    const [, version] = pattern.exec(`${printed?.stdout}\n${printed?.stderr}`) ?? [];
    if (version === undefined) continue;
    if (Number.parseInt(version, 10) >= oldest) return file;
    log(`${name} ${version} of ${place} is too old (${oldest} is needed)`);
  }
  return undefined;
}

const HIGHEST_PORT = 65_535;

/**
 * Different free ports; another process may take one before it is used.
 * @param above the port so many above each is free too.
 */
export async function freePorts(count: number, above = 0): Promise<number[]> {
  // All are opened before any is closed, or the same one could be handed out twice.
  const servers: Server[] = [];
  const ports: number[] = [];
  while (ports.length < count) {
    const server = await listen(0);
    servers.push(server);
    const { port } = server.address() as AddressInfo;
    if (above > 0) {
      const other = port + above;
      const neighbour = other > HIGHEST_PORT ? null : await listen(other).catch(() => null);
      if (neighbour === null) continue;
      servers.push(neighbour);
    }
    ports.push(port);
  }
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

/**
 * The ports of kept data, from `file`, so that clients' settings stay valid; free ones at the first
 * start.
 */
async function keptPorts(file: string, choose: () => Promise<number[]>): Promise<number[]> {
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as number[];
  const ports = await choose();
  writeFileSync(file, JSON.stringify(ports));
  return ports;
}

async function listen(port: number): Promise<Server> {
  const server = createServer().listen(port, LOOPBACK);
  await once(server, 'listening');
  return server;
}

/** The bus port of a Redis Cluster is so far above the client port. */
export const CLUSTER_BUS = 10_000;
const ATTEMPTS = 3;
/** Kafka writes its state on the way down; the other two need a second at most. */
const GRACE_MS = 20_000;
const PORT_TAKEN =
  /address already in use|port is already allocated|failed to bind|could not create server tcp listening socket/i;

/** Starts it on free ports: one server, or all of a cluster. */
export function startProgram(part: PartDefinition, program: LocatedProgram, context: StartContext) {
  const logFile = context.folder.logFile(part.name);
  return onFreePorts(part, context, async (folder, ports) => {
    // Each attempt begins with an empty log.
    writeFileSync(logFile, '');
    const members = Array.from({ length: ports.length / part.portCount }, (_, index) =>
      ports.slice(index * part.portCount, (index + 1) * part.portCount),
    );
    const prepared = members.map((own, index) => {
      if (members.length === 1) return program.prepare(folder, own, logFile);
      const home = join(folder, String(index + 1));
      mkdirSync(home);
      return program.prepare(home, own, logFile, { index, ports: members });
    });
    const commands = await Promise.all(prepared);
    const held = await Promise.all(
      commands.map((command) => startGuarded(context.guard, command, logFile)),
    );
    const exited = Promise.race(held.map((one) => one.exited));
    const stop = async (graceMs: number) => {
      await Promise.all(held.map((one) => one.stop(graceMs)));
    };
    try {
      const clientPorts = members.map(([port = 0]) => port);
      const address = await readyOrExited(part, clientPorts, exited);
      return {
        address,
        pids: held.map(({ pid }) => pid),
        logFile,
        exited,
        stop: () => stop(context.keepData ? GRACE_MS : 0),
      };
    } catch (error) {
      await stop(0);
      throw error;
    }
  });
}

/**
 * Starts a part on free ports, on others when one was taken meanwhile; with kept data on the ports
 * of its first start.
 */
export async function onFreePorts<T>(
  { name, portCount, clusterSize }: PartDefinition,
  { folder: data, keepData, topology }: StartContext,
  start: (folder: string, ports: readonly number[]) => Promise<T>,
): Promise<T> {
  const folder = data.part(name);
  for (let attempt = 1; ; attempt++) {
    const isCluster = topology === 'cluster';
    if (isCluster) rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const freshPorts = () =>
      isCluster ? freePorts(portCount * clusterSize, CLUSTER_BUS) : freePorts(portCount);
    const ports = await (keepData
      ? keptPorts(join(folder, 'ports.json'), freshPorts)
      : freshPorts());
    try {
      return await start(folder, ports);
    } catch (error) {
      const lines = [reasonOf(error), ...lastLines(data.logFile(name))];
      if (attempt < ATTEMPTS && lines.some((line) => PORT_TAKEN.test(line))) continue;
      if (error instanceof StackError) throw error;
      lines[0] = `${name} did not start: ${lines[0]}`;
      throw new StackError(lines.join('\n    '), { cause: error });
    }
  }
}

/** The address of a part that serves its clients. @throws when it ends before it does. */
export function readyOrExited(
  part: PartDefinition,
  ports: readonly number[],
  exited: Promise<PartExit>,
): Promise<string> {
  return unlessExited(exited, async (signal) => {
    await Promise.all(ports.map((port) => awaitPort(port, signal)));
    return part.awaitReady(ports, signal);
  });
}

/**
 * Waits until a process serves.
 * @param waiting gets a signal that ends with the wait.
 * @throws if the process ends first.
 */
export async function unlessExited<T>(
  exited: Promise<PartExit>,
  waiting: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const died = exited.then((exit) => Promise.reject(new Error(describeExit(exit))));
  try {
    return await Promise.race([waiting(ended.signal), died]);
  } finally {
    ended.abort();
  }
}

export function describeExit({ exitCode, signal }: PartExit): string {
  return signal === null
    ? `it ended with code ${exitCode ?? 'unknown'}`
    : `it was killed by ${signal}`;
}
