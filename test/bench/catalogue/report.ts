/** The result in Markdown, which is as good on a screen. */
import type { Felt } from './neighbours.ts';
import type { CatalogueResult } from './run.ts';

export function render(result: CatalogueResult): string {
  const { machine, product_changes: changed, streamed } = result;
  const felt = (name: string, one: Felt) =>
    `| ${name} | ${one.changes} | ${one.seconds} | ${one.cpu_ms} | ${one.p50_ms} | ${one.p99_ms} | ${one.max_ms} |`;
  return [
    `Measured on ${result.date}: ${machine.cores} cores (${machine.cpu}), ${machine.memory_gib} GiB, Node ${machine.node}, MongoDB ${machine.mongodb}; load average before ${result.load_average}.`,
    '',
    `\`${result.command}\``,
    '',
    '| while this changes | changes | applied after, s | projector’s processor ms | neighbours’ orders: p50 ms | p99 ms | longest |',
    '| --- | ---: | ---: | ---: | ---: | ---: | ---: |',
    felt(`the group that ${result.products} products share`, result.common_group),
    felt('one of ten groups of 60 KiB that 300 products share', result.large_group),
    '',
    `Ordinary changes of products: ${changed.events_per_second} events/s, ${changed.cpu_ms} ms of the projector’s processor time each.`,
    '',
    '| request | req/s | query service’s processor ms |',
    '| --- | ---: | ---: |',
    ...Object.entries(result.requests).map(
      ([name, one]) => `| ${name} | ${one.requests_per_second} | ${one.cpu_ms} |`,
    ),
    '',
    `A menu of ${streamed.mebibytes} MiB was streamed in ${streamed.seconds} s; the query service had ${streamed.service_before_mib} MiB resident at most before it, ${streamed.service_peak_mib} MiB after.`,
  ].join('\n');
}
