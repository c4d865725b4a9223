/** `quota`: how many requests a store may make, where that differs from the configuration. */
import type { Command } from 'commander';
import { addQuotaChangeCommands } from './change.ts';
import { addQuotaShowCommand } from './show.ts';

export function addQuotaCommands(program: Command): void {
  const quota = program.command('quota').description('Give stores a quota of their own');
  addQuotaChangeCommands(quota);
  addQuotaShowCommand(quota);
}
