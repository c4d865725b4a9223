/** `npm run bench -- overload`: what becomes of requests when far more are made than can be answered. */
import type { Command } from 'commander';
import { addShowing, atLeast } from '../options.ts';
import { type Showing, runAndPresent } from '../run-and-present.ts';
import { say } from '../say.ts';
import { type OverloadOptions, type OverloadResult, runOverloadBench } from './run.ts';

export function addOverloadBench(program: Command): void {
  const command = program
    .command('overload')
    .description('Three times as many requests as can be answered, at fixed times, and half as many after.')
    .option('--seconds <number>', 'length of a phase', atLeast(1), 10)
    .option('--connections <number>', 'connections of those who ask too much, at most', atLeast(1), 3_000)
    .option('--times <number>', 'how many times the peak is asked', atLeast(1), 3)
    .option('--cheap', 'only details of orders, the cheapest answers');
  addShowing(command).action(async ({ json, writeDocs, ...options }: OverloadOptions & Showing) => {
    await runAndPresent((cleanup) => runOverloadBench(options, say, cleanup), {
      json,
      writeDocs,
      section: 'overload',
      screen: renderScreen,
      markdown: renderMarkdown,
    });
  });
}

function rowsOf(result: OverloadResult): [what: string, figure: string][] {
  const { good, refused } = result;
  return [
    ['peak, each connection asking once it was answered', `${result.peak_rate} a second`],
    [`asked, ${result.times} times the peak`, `${result.asked_rate} a second`],
    ['answered', `${result.good_rate} a second: ${result.good_share} of the peak`],
    ['times of these answers', `p50 ${good.p50_ms} ms, p99 ${good.p99_ms} ms`],
    ['times of refusals', `p50 ${refused.p50_ms} ms, p99 ${refused.p99_ms} ms`],
    ['neither answered nor refused', String(result.lost)],
    ['connections that the listen queue had no place for', String(result.overflows)],
    ['normal after the load fell to half the peak', `within ${result.normal_after_ms} ms`],
    ['cores used', `service ${result.service_cores}, those who ask ${result.asker_cores}`],
  ];
}

function renderScreen(result: OverloadResult): string {
  const { machine } = result;
  return [
    `${machine.cores} cores, Node ${machine.node}, MongoDB ${machine.mongodb}`,
    ...rowsOf(result).map(([what, figure]) => `${what}: ${figure}`),
    '',
  ].join('\n');
}

function renderMarkdown(result: OverloadResult): string {
  const { machine, date, seconds, connections, cheap } = result;
  return [
    `Measured on ${date}: ${machine.cores} cores (${machine.cpu}), Node ${machine.node}, MongoDB ${machine.mongodb}.`,
    '',
    `\`npm run bench -- overload --seconds ${seconds} --connections ${connections}${cheap === true ? ' --cheap' : ''}\``,
    '',
    '| what | figure |',
    '| --- | --- |',
    ...rowsOf(result).map(([what, figure]) => `| ${what} | ${figure} |`),
  ].join('\n');
}
