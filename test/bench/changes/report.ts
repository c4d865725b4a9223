/** The result in Markdown, which is as good on a screen. */
import type { SideResult } from '../in-turn.ts';
import { grouped } from '../query/report/columns.ts';
import type { ChangesResult } from './run.ts';

export function render(result: ChangesResult): string {
  const {
    date,
    machine,
    command,
    load_average: load,
    records,
    rate,
    stores,
    pages,
    waiting,
    missed,
  } = result;
  const row = (name: string, side: SideResult, ratio: string) =>
    `| ${name} | ${side.requests_per_second} | ${side.p50_ms} | ${side.p99_ms} | ${side.cpu_ms} | ${ratio} |`;
  const misses = (name: string, { missing, stale, undeleted }: ChangesResult['missed']['feed']) =>
    `| ${name} | ${missing} | ${stale} | ${undeleted} |`;
  return [
    `Measured on ${date}: ${machine.cores} cores (${machine.cpu}), ${machine.memory_gib} GiB, Node ${machine.node}, MongoDB ${machine.mongodb}; load average before ${load}.`,
    '',
    `\`${command}\``,
    '',
    `| a page of 100, of ${grouped(records)} orders | req/s | p50 ms | p99 ms | processor ms | beside |`,
    '| --- | ---: | ---: | ---: | ---: | ---: |',
    row('the list’s first', pages.list, ''),
    row('the first of changes', pages.first, `${pages.ratio}× the list’s requests a second`),
    ...pages.depths.map(({ share, result: side, ratio }) =>
      row(`changes at ${share * 100} %`, side, `${ratio}× the first’s p50`),
    ),
    '',
    `A whole copy by one client, one page after the other: ${grouped(pages.copy.records)} records in ${pages.copy.seconds} s.`,
    '',
    `${grouped(waiting.waiters)} clients wait for ${grouped(stores)} stores: ${waiting.kibibytes_each} KiB of the query service’s memory each, ${Math.round(waiting.idle_cpu * 100)} % of a core for all of them.`,
    `Beside them five clients wait for five stores that have ${grouped(rate)} new orders a second together. From an event’s \`time\` to the end of the answer that tells it: p50 ${waiting.p50_ms} ms, p99 ${waiting.p99_ms} ms, slowest ${waiting.max_ms} ms (${grouped(waiting.events)} events in ${grouped(waiting.answers)} answers).`,
    '',
    `| after ${grouped(missed.changes)} changes of ${missed.records} orders, ${missed.deletions} deletions | missing | stale | not deleted |`,
    '| --- | ---: | ---: | ---: |',
    misses('`changes` with `wait`', missed.feed),
    misses('`find({updated_at: {$gt}})` every second', missed.usual),
  ].join('\n');
}
