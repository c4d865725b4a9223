/** The benchmarks, `npm run bench -- <which>`: one subcommand each, against real servers. */
import { Command } from 'commander';
import { StackError } from '#local/stack/part.ts';
import { floodBench } from './flood.ts';
import { addBench } from './frame.ts';
import { freshnessBench } from './freshness/run.ts';
import { projectorBench } from './projector/run.ts';
import { queryBench } from './query/run.ts';
import { say } from './say.ts';

// kafkajs passes negative delays to timers; a user of the terminal cannot change that.
process.removeAllListeners('warning');
process.on('warning', (warning) => {
  if (warning.name !== 'TimeoutNegativeWarning') say(`${warning.name}: ${warning.message}`);
});

const program = new Command('bench')
  .description('Measures the services on real servers.')
  .addHelpText(
    'after',
    `
The servers are those that KAFKA_BROKERS, MONGODB_URI and REDIS_URL name; a local stack is
started for those that are not given. What the figures mean: docs/benchmarks.md.`,
  );
addBench(program, queryBench);
addBench(program, floodBench);
addBench(program, projectorBench);
addBench(program, freshnessBench);

try {
  await program.parseAsync();
  // Clients of the servers may still be closing.
  process.exit();
} catch (error) {
  const message = error instanceof StackError ? error.message : error;
  say(`bench: ${message instanceof Error ? message.stack : String(message)}`);
  process.exit(1);
}
