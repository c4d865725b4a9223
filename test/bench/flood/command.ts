/** `npm run bench -- flood`: what one store feels of floods from its own address. */
import type { Command } from 'commander';
import { addShowing, atLeast, roundsOption, secondsOption } from '../options.ts';
import { type Showing, runAndPresent } from '../run-and-present.ts';
import { say } from '../say.ts';
import { FLOODS, type FloodOptions, type FloodResult, runFloodBench } from './run.ts';

export function addFloodBench(program: Command): void {
  const command = program
    .command('flood')
    .description(
      'A store’s order list, alone and beside forged tokens, wrong secrets, and a store beyond its quota.',
    )
    .option('--rate <number>', 'requests a second of the calm store', atLeast(1), 50)
    .option('--connections <number>', 'connections of the flood', atLeast(1), 100)
    .addOption(secondsOption(5))
    .addOption(roundsOption(3, 'of each kind, taken in turn'));
  addShowing(command).action(async ({ json, writeDocs, ...options }: FloodOptions & Showing) => {
    await runAndPresent((cleanup) => runFloodBench(options, say, cleanup), {
      json,
      writeDocs,
      section: 'flood',
      screen: renderMarkdown,
      markdown: renderMarkdown,
    });
  });
}

function renderMarkdown({
  machine,
  date,
  rate,
  connections,
  seconds,
  rounds,
  alone,
  beside,
}: FloodResult): string {
  const rowOf = (name: string, { answered_percent, p50_ms, p99_ms }: FloodResult['alone'], flood: string) =>
    `| ${name} | ${flood} | ${answered_percent} % | ${p50_ms} | ${p99_ms} |`;
  return [
    `Measured on ${date}: ${machine.cores} cores (${machine.cpu}), Node ${machine.node}, MongoDB ${machine.mongodb}.`,
    '',
    `\`npm run bench -- flood --rate ${rate} --connections ${connections} --seconds ${seconds} --rounds ${rounds}\``,
    '',
    '| beside | requests of the flood a second | answered | p50 ms | p99 ms |',
    '| --- | ---: | ---: | ---: | ---: |',
    rowOf('nothing', alone, ''),
    ...FLOODS.map((flood) => rowOf(flood, beside[flood], String(beside[flood].flood_per_second))),
    '',
  ].join('\n');
}
