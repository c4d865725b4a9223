/** The benchmarks, `npm run bench -- <which>`: one subcommand each, against real servers. */
import { Command } from 'commander';
import { StackError } from '#local/stack/errors.ts';
import { addAccessBench } from './access/command.ts';
import { addCatalogueBench } from './catalogue/command.ts';
import { addChangesBench } from './changes/command.ts';
import { addFloodBench } from './flood/command.ts';
import { addIdleBench } from './idle/command.ts';
import { addMovedOffsetBench } from './moved-offset/command.ts';
import { addFreshnessBench } from './freshness/command.ts';
import { addOverloadBench } from './overload/command.ts';
import { addProjectorBench } from './projector/command.ts';
import { addQueryBench } from './query/command.ts';
import { addTracingBench } from './tracing/command.ts';
import { addScaleBench } from './scale/command.ts';
import { say } from './say.ts';
import { addSoak } from './soak/command.ts';

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
addMovedOffsetBench(program);
addProjectorBench(program);
addFreshnessBench(program);
addCatalogueBench(program);
addOverloadBench(program);
addChangesBench(program);
addIdleBench(program);
addSoak(program);
addScaleBench(program);
addTracingBench(program);

try {
  await program.parseAsync();
  // Clients of the servers may still be closing.
  process.exit();
} catch (error) {
  const message = error instanceof StackError ? error.message : error;
  say(`bench: ${message instanceof Error ? message.stack : String(message)}`);
  process.exit(1);
}
