/** `npm run bench -- tracing`: what traces cost a request. */
import type { Command } from 'commander';
import { addShowing, connectionsOption, roundsOption, secondsOption } from '../options.ts';
import { runAndPresent, type Showing } from '../run-and-present.ts';
import { say } from '../say.ts';
import { runTracingBench, type TracingBenchOptions, type TracingBenchResult } from './run.ts';

export function addTracingBench(program: Command): void {
  const command = program
    .command('tracing')
    .description('The query service with traces of some and of all requests, beside one without.')
    .addOption(connectionsOption())
    .addOption(secondsOption(1))
    .addOption(roundsOption(9));
  addShowing(command).action(async ({ json, writeDocs, ...options }: TracingBenchOptions & Showing) => {
    await runAndPresent((cleanup) => runTracingBench(options, say, cleanup), {
      json,
      writeDocs,
      section: 'tracing',
      screen: (result) => `${rowsOf(result).join('\n')}\n`,
      markdown: renderMarkdown,
    });
  });
}

function rowsOf({ comparisons }: TracingBenchResult): string[] {
  return comparisons.map(({ name, ours, other, ratio, round_ratios: rounds }) => {
    const cpu = [ours, other].map((side) => Math.round(side.cpu_ms * 1_000));
    return `| ${name} | ${ratio.toFixed(2)} | ${rounds.map((one) => one.toFixed(2)).join(' ')} | ${cpu.join(' | ')} |`;
  });
}

function renderMarkdown(result: TracingBenchResult): string {
  const { machine, date, connections, seconds, rounds, memory } = result;
  return [
    `Measured on ${date}: ${machine.cores} cores (${machine.cpu}), Node ${machine.node}, MongoDB ${machine.mongodb}.`,
    '',
    `\`npm run bench -- tracing --connections ${connections} --seconds ${seconds} --rounds ${rounds}\``,
    '',
    '| request, traced | processor time, by that without | rounds | µs | without |',
    '| --- | --: | --: | --: | --: |',
    ...rowsOf(result),
    '',
    `Peak memory in MiB: ${memory.map(({ name, mebibytes }) => `${name} ${mebibytes}`).join(', ')}.`,
  ].join('\n');
}
