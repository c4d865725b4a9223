/** `generations`: the sets of read models that there are, and what becomes of them. */
import type { Command } from 'commander';
import { addDropCommand } from './drop.ts';
import { addFlipCommand } from './flip.ts';
import { addListCommand } from './list.ts';

export function addGenerationCommands(program: Command): void {
  const generations = program
    .command('generations')
    .description('Look at the generations of read models; take one into use or drop it');
  addListCommand(generations);
  addFlipCommand(generations);
  addDropCommand(generations);
}
