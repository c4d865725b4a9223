/** The benchmarks, `npm run bench -- <which>`: one subcommand each, against real servers. */
import { Command } from 'commander';
import { StackError } from '#local/stack/part.ts';
import { addAccessBench } from './access/run.ts';
import { addChangesBench } from './changes/run.ts';
import { addFloodBench } from './flood/command.ts';
import { addFreshnessBench } from './freshness/run.ts';
import { addOverloadBench } from './overload/command.ts';
import { addProjectorBench } from './projector/run.ts';
import { addQueryBench } from './query/command.ts';
import { say } from './say.ts';
import { addSoak } from './soak/run.ts';

// kafkajs passes negative delays to timers; nobody at a terminal can do anything about that.
process.removeAllListeners('warning');
process.on('warning', (warning) => {
  if (warning.name !== 'TimeoutNegativeWarning') say(`${warning.name}: ${warning.message}`);
});

const program = new Command('bench').description('Measures the services on real servers.').addHelpText(
  'after',
  `
The servers are those that KAFKA_BROKERS, MONGODB_URI and REDIS_URL name; a local stack is
started for those that are not given. What the figures mean: docs/benchmarks.md.`,
);
addQueryBench(program);
addFloodBench(program);
addAccessBench(program);
addProjectorBench(program);
addFreshnessBench(program);
addOverloadBench(program);
addChangesBench(program);
addSoak(program);

try {
  await program.parseAsync();
  // Clients of the servers may still be closing.
  process.exit();
} catch (error) {
  const message = error instanceof StackError ? error.message : error;
  say(`bench: ${message instanceof Error ? message.stack : String(message)}`);
  process.exit(1);
}
