/** The result in Markdown, which is as good on a screen. */
import type { MovedOffsetResult } from './run.ts';

export function render({
  date,
  machine,
  command,
  load_average: load,
  page,
  live,
  share,
}: MovedOffsetResult): string {
  const within = (part: number) => `${(part * 100).toFixed(1)} %`;
  return [
    `Measured on ${date}: ${machine.cores} cores (${machine.cpu}), ${machine.memory_gib} GiB, Node ${machine.node}, MongoDB ${machine.mongodb}; load average before ${load}.`,
    '',
    `\`${command}\``,
    '',
    '| a page of 100 orders, with bodies | req/s | p50 ms | p99 ms | processor ms |',
    '| --- | ---: | ---: | ---: | ---: |',
    ...(
      [
        ['made for the present offset', page.made],
        ['made for another, and shifted', page.shifted],
      ] as const
    ).map(
      ([name, price]) =>
        `| ${name} | ${price.requests_per_second} | ${price.p50_ms} | ${price.p99_ms} | ${price.cpu_ms} |`,
    ),
    '',
    `Made by shifted: ${page.ratio}× requests a second (rounds: ${page.round_ratios.join(', ')}).`,
    '',
    '| live events | events/s | visible after, mean | within 0.1 s | within 0.25 s | transactions tried again |',
    '| --- | ---: | ---: | ---: | ---: | ---: |',
    ...(
      [
        ['alone', live.alone],
        ['beside rewriting', live.beside],
      ] as const
    ).map(
      ([name, seen]) =>
        `| ${name} | ${seen.events_per_second} | ${seen.mean_ms} ms | ${within(seen.within_100_ms)} | ${within(seen.within_250_ms)} | ${seen.failures} |`,
    ),
    '',
    `Rewritten: ${live.beside_per_second} bodies a second beside them, ${live.alone_per_second} without them, at a share of ${share} %; ${live.cpu_ms} ms of the projector’s processor time each.`,
  ].join('\n');
}
