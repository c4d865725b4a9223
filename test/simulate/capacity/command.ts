/** `npm run simulate -- capacity`: what an installation needs for its stores, orders and requests. */
import { type Command, InvalidArgumentError } from 'commander';
import { writeSection } from '../../bench/docs-section.ts';
import { atLeast } from '../../bench/options.ts';
import { show } from '../../bench/run-and-present.ts';
import { type Demand, USUAL } from './demand.ts';
import { readFigures } from './figures.ts';
import { planFor } from './plan.ts';
import { simulatedRhythm } from './rhythm.ts';
import { renderMarkdown, renderScreen } from './report.ts';

interface Flags {
  stores: number;
  ordersPerDay: number;
  requestsPerSecond: number;
  waiting: number;
  days: number;
  skew: number;
  largestStore: number;
  partitions: number;
  json?: true;
  writeDocs?: true;
}

export function addCapacity(program: Command): void {
  program
    .command('capacity')
    .description('What so many stores, orders and requests take, from measured figures.')
    .option('--stores <number>', 'stores', atLeast(1), USUAL.stores)
    .option('--orders-per-day <number>', 'orders of all stores', atLeast(1), USUAL.ordersADay)
    .option('--requests-per-second <number>', 'in the busiest hour', atLeast(1), USUAL.requestsPerSecond)
    .option('--waiting <number>', 'clients that wait for changes', atLeast(0), USUAL.waiting)
    .option('--days <number>', 'for how many days orders are kept', atLeast(1), USUAL.days)
    .option('--skew <number>', 'exponent of Zipf’s law', exponent, USUAL.skew)
    .option('--largest-store <number>', 'orders a day of one store, at most', atLeast(1), USUAL.largest)
    .option('--partitions <number>', 'of the topic of changes', atLeast(1), USUAL.partitions)
    .option('--json', 'print the plan as JSON')
    .option('--write-docs', 'put the plan into docs/capacity.md')
    .action(async ({ ordersPerDay, largestStore, json, writeDocs, ...flags }: Flags) => {
      const demand: Demand = { ...flags, ordersADay: ordersPerDay, largest: largestStore };
      const figures = await readFigures();
      const plan = planFor(demand, figures, simulatedRhythm());
      show({ json }, plan, renderScreen(plan, figures));
      if (writeDocs) await writeSection('capacity', renderMarkdown(plan, figures), 'capacity.md');
    });
}

function exponent(text: string): number {
  if (/^\d(\.\d{1,3})?$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number such as 0.8, below 10.');
}
