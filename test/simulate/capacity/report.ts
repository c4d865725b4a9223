/** The plan for the terminal and for `docs/capacity.md`. */
import { tableOf } from '../../../services/admin/output/print.ts';
import { grouped } from '../../bench/query/report/columns.ts';
import { KAFKA_REPLICAS, MIX, PLANNED, SHARD } from './demand.ts';
import type { Figures } from './figures.ts';
import { type Need, type Plan, pressure } from './plan.ts';

/** As wide as a terminal at least is. */
const COLUMNS = 80;

export function renderScreen(plan: Plan, figures: Figures): string {
  return [
    ...wrapped(demandOf(plan)),
    ...wrapped(rhythmOf(plan)),
    '',
    tableOf(plan.balances, [
      ['orders of stores on', ({ what }) => what],
      ['the busiest, by the mean', ({ imbalance }) => imbalance.toFixed(2), 'right'],
    ]),
    tableOf(sorted(plan), [
      ['what', ({ what }) => what, 'fills'],
      ['demand', (need) => amount(need.demand), 'right'],
      ['one', (need) => amount(need.one), 'right'],
      ['', ({ unit }) => unit],
      ['uneven', ({ imbalance }) => imbalance.toFixed(2), 'right'],
      ['needed', numberOf, 'right'],
    ]),
    ...wrapped(firstOf(plan)),
    ...wrapped(`Measured: docs/benchmarks.md, medians of ${measuredAt(figures)}.`),
  ].join('\n');
}

export function renderMarkdown(plan: Plan, figures: Figures): string {
  const { request } = figures;
  return [
    demandOf(plan),
    rhythmOf(plan),
    '',
    ...table(
      [`measured, medians of ${measuredAt(figures)}`, 'figure', 'source'],
      [
        ['an event: projector', us(figures.projectorUs), SCALE],
        ['an event: MongoDB', us(figures.eventMongodbUs), SCALE],
        ['an event: message', `${grouped(figures.eventBytes)} B`, SCALE],
        ['a request of the mix: query service', us(request.queryUs), SCALE],
        ['a request of the mix: MongoDB', us(request.mongodbUs), SCALE],
        ['a request of the mix: Redis', us(request.redisUs), SCALE],
        ['a request of the mix: bytes with the client', `${grouped(request.clientBytes)} B`, SCALE],
        [
          'an order: document, indexes',
          `${grouped(figures.orderDocumentBytes)} B, ${grouped(figures.orderIndexBytes)} B`,
          SCALE,
        ],
        [
          'Redis: a session, all else of a store',
          `${grouped(figures.sessionBytes)} B, ${grouped(figures.storeBytes)} B`,
          SCALE,
        ],
        [
          'memory: query service, projector',
          `${grouped(figures.queryMib)} MiB, ${grouped(figures.projectorMib)} MiB`,
          SCALE,
        ],
        [
          'a client that waits',
          `${figures.waitingKib} KiB, ${us(figures.waitingCores * 1e6)} a second`,
          '[changes](benchmarks.md#following-changes)',
        ],
      ],
    ),
    ...table(
      ['needed', 'how many', 'demand', 'one carries', 'uneven', 'formula', 'source'],
      sorted(plan).map((need) => [
        need.what,
        numberOf(need),
        `${amount(need.demand)} ${need.unit}`,
        `${amount(need.one)} ${need.unit}`,
        need.imbalance.toFixed(2),
        need.formula,
        need.source,
      ]),
    ),
    ...table(
      ['orders of stores on', 'the busiest, by the mean'],
      plan.balances.map(({ what, imbalance }) => [what, imbalance.toFixed(2)]),
    ),
    firstOf(plan),
  ].join('\n');
}

const SCALE = '[scale](benchmarks.md#stores-and-instances)';

function table(titles: readonly string[], rows: readonly string[][]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(titles), line(titles.map(() => '---')), ...rows.map(line), ''];
}

function demandOf({ demand }: Plan): string {
  const { stores, ordersADay, requestsPerSecond, waiting, days } = demand;
  const percent = (share: number) => `${Math.round(share * 100)} %`;
  return `${grouped(stores)} stores, ${grouped(ordersADay)} orders a day kept for ${days} days, ${grouped(requestsPerSecond)} requests a second in the busiest hour (${percent(MIX.details)} single orders, ${percent(MIX.list)} lists, ${percent(MIX.poll)} polls answered 304), ${grouped(waiting)} clients that wait. Cores, caches, disks and links are planned at ${percent(PLANNED)}; a shard has ${SHARD.cores} cores, ${SHARD.cacheGib} GiB of cache and ${SHARD.diskTib} TiB, and Kafka keeps ${KAFKA_REPLICAS} replicas.`;
}

function rhythmOf({ demand, spread, rhythm, eventsPerSecond }: Plan): string {
  return `By Zipf’s law with exponent ${demand.skew}, cut at ${grouped(demand.largest)} orders a day, the largest store has ${grouped(spread.largest)}, the one in the middle ${grouped(spread.middle)}, the smallest ${grouped(spread.smallest)}. The busiest hour has ${rhythm.busiest.toFixed(1)} times the orders of the mean hour; an order is ${rhythm.eventsOfOrder.toFixed(1)} events, which makes ${grouped(eventsPerSecond)} events a second.`;
}

/** What is short first comes first. */
function sorted({ needs }: Plan): Need[] {
  return needs.toSorted((a, b) => pressure(b) - pressure(a));
}

function firstOf(plan: Plan): string {
  const [first, second, third] = sorted(plan).map(({ what }) => what);
  return `Where there is one of each, short first: ${first}; then ${second}; then ${third}.`;
}

function measuredAt({ stores: { least, most } }: Figures): string {
  return `one instance at ${grouped(least)} to ${grouped(most)} stores`;
}

function numberOf({ needed }: Need): string {
  return needed === null ? 'none suffices' : grouped(needed);
}

function us(value: number): string {
  return `${value < 10 ? value.toFixed(1) : grouped(value)} µs`;
}

/** Three digits at least, and no more behind the point than that takes. */
function amount(value: number): string {
  return value >= 100 ? grouped(value) : value.toPrecision(2);
}

function wrapped(text: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > COLUMNS) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
