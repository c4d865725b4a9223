/** `npm run bench -- flood`: what one store feels of another that floods. */
import type { Command } from 'commander';
import { atLeast, jsonOption, roundsOption, secondsOption } from '../options.ts';
import { runToEnd, show } from '../run-and-present.ts';
import { say } from '../say.ts';
import { type FloodOptions, type FloodResult, runFloodBench } from './run.ts';

export function addFloodBench(program: Command): void {
  program
    .command('flood')
    .description('A store’s order list, alone and while another store floods at ten times its quota.')
    .option('--rate <number>', 'requests a second of the calm store', atLeast(1), 100)
    .option('--quota <number>', 'requests a second that the flooding store may make', atLeast(1), 10)
    .addOption(secondsOption(10))
    .addOption(roundsOption(5, 'of each kind, taken in turn'))
    .addOption(jsonOption())
    .action(async ({ json, ...options }: FloodOptions & { json?: true }) => {
      const result = await runToEnd((cleanup) => runFloodBench(options, say, cleanup));
      show({ json }, result, renderScreen(result));
    });
}

function renderScreen({
  machine,
  rounds,
  rate,
  quota,
  alone,
  flooded,
  ratio,
  statuses,
}: FloodResult): string {
  const refused = statuses[429] ?? 0;
  const total = Object.values(statuses).reduce((sum, count) => sum + count, 0);
  return [
    `${machine.cores} cores, ${machine.memory_gib} GiB, Node ${machine.node}, MongoDB ${machine.mongodb}`,
    `a store at ${rate} requests a second, alone: p50 ${alone.p50_ms} ms, p99 ${alone.p99_ms} ms`,
    `beside one at ${quota * 10} a second with a quota of ${quota}: p50 ${flooded.p50_ms} ms, p99 ${flooded.p99_ms} ms`,
    `p99 ratio ${ratio} (median of ${rounds} rounds); the flood was refused ${refused} of ${total} times`,
    '',
  ].join('\n');
}
