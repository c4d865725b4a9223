/** `dead-letters`: messages that could not be applied, and what becomes of them. */
import type { Command } from 'commander';
import { addDropCommand } from './drop.ts';
import { addListCommand } from './list.ts';
import { addRetryCommand } from './retry.ts';
import { addShowCommand } from './show.ts';
import { addSkipCommand } from './skip.ts';

export function addDeadLetterCommands(program: Command): void {
  const letters = program
    .command('dead-letters')
    .description('Look at messages that could not be applied; retry or drop them');
  addListCommand(letters);
  addShowCommand(letters);
  addRetryCommand(letters);
  addDropCommand(letters);
  addSkipCommand(letters);
}
