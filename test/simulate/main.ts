/** The simulations, `npm run simulate -- <which>`: what cannot be measured here is computed from what was. */
import { Command } from 'commander';
import { addCapacity } from './capacity/command.ts';

const program = new Command('simulate').description(
  'Computes from measured figures what cannot be measured.',
);
addCapacity(program);
try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`simulate: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
