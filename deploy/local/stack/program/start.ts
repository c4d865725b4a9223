// Starts one server on free ports, as a program of this machine, and waits until it serves.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StackError, reasonOf } from '../errors.ts';
import type { LocatedProgram, PartDefinition, RunningPart, StartContext } from '../part.ts';
import { type PartExit, startGuarded } from './guarded-process.ts';
import { lastLines } from './log-tail.ts';
import { freePorts, savedPorts } from './ports.ts';

const HOST = '127.0.0.1';
const ATTEMPTS = 3;
/** Kafka writes its state on the way down; the other two need a second at most. */
const GRACE_MS = 20_000;
const PORT_TAKEN =
  /address already in use|port is already allocated|failed to bind|could not create server tcp listening socket/i;

/** Starts it on free ports. */
export function startProgram(
  part: PartDefinition,
  program: LocatedProgram,
  context: StartContext,
): Promise<Omit<RunningPart, 'source' | 'reason'>> {
  const logFile = context.folder.logFile(part.name);
  return onFreePorts(part, context, async (folder, ports) => {
    // Each attempt is judged by its own output.
    writeFileSync(logFile, '');
    const command = await program.prepare(folder, ports, logFile);
    const held = await startGuarded(context.guard, command, logFile);
    try {
      const address = await readyOrExited(part, HOST, ports[0] ?? 0, held.exited);
      const stop = () => held.stop(context.keepData ? GRACE_MS : 0);
      return { address, pid: held.pid, logFile, exited: held.exited, stop };
    } catch (error) {
      await held.stop(0);
      throw error;
    }
  });
}

/**
 * Starts a part on free ports, again on others when somebody was quicker to take one. With kept data on the same ports as last time,
 * so that clients' settings stay true; see also mongodb/replica-set.ts.
 */
export async function onFreePorts<T>(
  { name, portCount }: PartDefinition,
  { folder: data, keepData }: StartContext,
  start: (folder: string, ports: readonly number[]) => Promise<T>,
): Promise<T> {
  const folder = data.part(name);
  mkdirSync(folder, { recursive: true });
  for (let attempt = 1; ; attempt++) {
    const reuse = keepData && attempt === 1;
    const ports = await (reuse ? savedPorts(join(folder, 'ports.json'), portCount) : freePorts(portCount));
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
export async function readyOrExited(
  part: PartDefinition,
  host: string,
  port: number,
  exited: Promise<PartExit>,
): Promise<string> {
  const waiting = new AbortController();
  const died = exited.then((exit) => Promise.reject(new Error(describeExit(exit))));
  try {
    return await Promise.race([part.awaitReady(host, port, waiting.signal), died]);
  } finally {
    waiting.abort();
  }
}

/** How a process ended, in words. */
export function describeExit({ exitCode, signal }: PartExit): string {
  return signal === null ? `it ended with code ${exitCode ?? 'unknown'}` : `it was killed by ${signal}`;
}
