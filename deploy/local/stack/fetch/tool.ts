// Runs a package manager to its end; it ends with its owner, like the servers.
import { join } from 'node:path';
import type { StartContext } from '../part.ts';
import { startGuarded } from '../program/guarded-process.ts';
import type { Command } from '../program/guarded-process.ts';
import { lastLines } from '../program/log-tail.ts';

/** Resolves when it succeeded; rejects with the last lines of what it said. */
export async function runTool(command: Command, staging: string, context: StartContext): Promise<void> {
  const logFile = join(staging, 'tool.log');
  const held = await startGuarded(context.guard, command, logFile);
  const { exitCode } = await held.exited;
  if (exitCode !== 0) throw new Error(lastLines(logFile, 8).join('\n    '));
}
