/** `keys`: access keys, from their making to their revocation. */
import type { Command } from 'commander';
import { addCreateCommand } from './create.ts';
import { addListCommand } from './list.ts';
import { addRotateSecretCommand } from './rotate-secret.ts';
import { addScopesCommand } from './scopes.ts';
import { addStatusCommands } from './status.ts';

export function addKeyCommands(program: Command): void {
  const keys = program.command('keys').description('Make access keys, and decide what they may read');
  addCreateCommand(keys);
  addListCommand(keys);
  addScopesCommand(keys);
  addRotateSecretCommand(keys);
  addStatusCommands(keys);
}
