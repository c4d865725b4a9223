// Starts a server on free ports, or the servers of a cluster, as programs of this machine, and waits until they serve.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StackError, reasonOf } from '../errors.ts';
import type { LocatedProgram, PartDefinition, RunningPart, StartContext } from '../part.ts';
import { type Command, type PartExit, startGuarded } from './guarded-process.ts';
import { lastLines } from './log-tail.ts';
import { freePorts, savedPorts } from './ports.ts';

const HOST = '127.0.0.1';
/** So far above the port for clients the servers of a Redis Cluster talk to one another. */
export const CLUSTER_BUS = 10_000;
const ATTEMPTS = 3;
/** Kafka writes its state on the way down; the other two need a second at most. */
const GRACE_MS = 20_000;
const PORT_TAKEN =
  /address already in use|port is already allocated|failed to bind|could not create server tcp listening socket/i;

/** Starts it on free ports: one server, or all of a cluster. */
export function startProgram(
  part: PartDefinition,
  program: LocatedProgram,
  context: StartContext,
): Promise<Omit<RunningPart, 'source' | 'reason'>> {
  const logFile = context.folder.logFile(part.name);
  return onFreePorts(part, context, async (folder, ports) => {
    // Each attempt is judged by its own output.
    writeFileSync(logFile, '');
    const commands = await prepareAll(part, program, { folder, ports, logFile });
    const held = await Promise.all(commands.map((command) => startGuarded(context.guard, command, logFile)));
    const exited = Promise.race(held.map((one) => one.exited));
    const stop = async (graceMs: number) => {
      await Promise.all(held.map((one) => one.stop(graceMs)));
    };
    try {
      const clientPorts = ports.filter((_, index) => index % part.portCount === 0);
      const address = await readyOrExited(part, HOST, clientPorts, exited);
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

/** Says how to start each server: the one, in the part's folder, or each one of a cluster in a folder of its own. */
async function prepareAll(
  { portCount }: PartDefinition,
  program: LocatedProgram,
  { folder, ports, logFile }: { folder: string; ports: readonly number[]; logFile: string },
): Promise<Command[]> {
  if (ports.length === portCount) return [await program.prepare(folder, ports, logFile)];
  const members = Array.from({ length: ports.length / portCount }, (_, index) =>
    ports.slice(index * portCount, (index + 1) * portCount),
  );
  return Promise.all(
    members.map((own, index) => {
      const home = join(folder, String(index + 1));
      mkdirSync(home);
      return program.prepare(home, own, logFile, { index, ports: members });
    }),
  );
}

/**
 * Starts a part on free ports, again on others when somebody was quicker to take one. With kept data on the same ports as last time,
 * so that clients' settings stay true; see also mongodb/replica-set.ts.
 */
export async function onFreePorts<T>(
  { name, portCount, clusterSize }: PartDefinition,
  { folder: data, keepData, topology }: StartContext,
  start: (folder: string, ports: readonly number[]) => Promise<T>,
): Promise<T> {
  const folder = data.part(name);
  for (let attempt = 1; ; attempt++) {
    if (topology === 'cluster') rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const ports = await choosePorts(attempt);
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

  function choosePorts(attempt: number): Promise<number[]> {
    if (topology === 'cluster') return freePorts(portCount * clusterSize, CLUSTER_BUS);
    if (keepData && attempt === 1) return savedPorts(join(folder, 'ports.json'), portCount);
    return freePorts(portCount);
  }
}

/** The address of a part that serves its clients. @throws when it ends before it does. */
export async function readyOrExited(
  part: PartDefinition,
  host: string,
  ports: readonly number[],
  exited: Promise<PartExit>,
): Promise<string> {
  const waiting = new AbortController();
  const died = exited.then((exit) => Promise.reject(new Error(describeExit(exit))));
  try {
    return await Promise.race([part.awaitReady(host, ports, waiting.signal), died]);
  } finally {
    waiting.abort();
  }
}

/** How a process ended, in words. */
export function describeExit({ exitCode, signal }: PartExit): string {
  return signal === null ? `it ended with code ${exitCode ?? 'unknown'}` : `it was killed by ${signal}`;
}
