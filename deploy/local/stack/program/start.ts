// Starts one server as a program of this machine and waits until it serves.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StackError, reasonOf } from '../errors.ts';
import type { LocatedProgram, PartDefinition, RunningPart, StartContext } from '../part.ts';
import type { PartExit } from './guarded-process.ts';
import { startGuarded } from './guarded-process.ts';
import type { GuardedProcess } from './guarded-process.ts';
import { lastLines } from './log-tail.ts';
import { freePorts, rememberedPorts } from './ports.ts';

const HOST = '127.0.0.1';
const ATTEMPTS = 3;
/** Kafka writes its state on the way down; the other two need a second at most. */
const GRACE_MS = 20_000;
const PORT_TAKEN = /address already in use|failed to bind|could not create server tcp listening socket/i;

/** Starts it on free ports, again on others when somebody was quicker to take one. */
export async function startProgram(
  part: PartDefinition,
  program: LocatedProgram,
  context: StartContext,
): Promise<Omit<RunningPart, 'source' | 'reason'>> {
  const folder = context.folder.part(part.name);
  const logFile = context.folder.logFile(part.name);
  mkdirSync(folder, { recursive: true });
  for (let attempt = 1; ; attempt++) {
    const ports = await choosePorts(part, folder, context.keepData && attempt === 1);
    // Each attempt is judged by its own output.
    writeFileSync(logFile, '');
    const command = await program.prepare(folder, ports, logFile);
    const held = await startGuarded(context.guard, command, logFile);
    try {
      const address = await readyOrExited(part, held, ports[0] ?? 0);
      const stop = () => held.stop(context.keepData ? GRACE_MS : 0);
      return { address, pid: held.pid, logFile, exited: held.exited, stop };
    } catch (error) {
      await held.stop(0);
      const lines = lastLines(logFile);
      if (attempt < ATTEMPTS && lines.some((line) => PORT_TAKEN.test(line))) continue;
      throw new StackError([`${part.name} did not start: ${reasonOf(error)}`, ...lines].join('\n    '));
    }
  }
}

/** With kept data the same ports as last time, so that clients' settings stay true; see also mongodb/replica-set.ts. */
function choosePorts(part: PartDefinition, folder: string, remember: boolean): Promise<number[]> {
  return remember ? rememberedPorts(join(folder, 'ports.json'), part.portCount) : freePorts(part.portCount);
}

async function readyOrExited(part: PartDefinition, held: GuardedProcess, port: number): Promise<string> {
  const waiting = new AbortController();
  const died = held.exited.then((exit) => Promise.reject(new Error(describeExit(exit))));
  try {
    return await Promise.race([part.awaitReady(HOST, port, waiting.signal), died]);
  } finally {
    waiting.abort();
  }
}

/** How a process ended, in words. */
export function describeExit({ exitCode, signal }: PartExit): string {
  return signal === null ? `it ended with code ${exitCode ?? 'unknown'}` : `it was killed by ${signal}`;
}
