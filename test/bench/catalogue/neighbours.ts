/** What other stores feel of one whose catalogue changes: the age of their orders when the API shows them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { publishSteadily, type LiveStore } from '../freshness/stream.ts';
import { visit } from '../freshness/visitor.ts';
import { caughtUp } from '#test/read-models.ts';
import { eventually, type Installation } from '#test/installation.ts';
import { rounded } from '../median.ts';
import { cpuSeconds } from '../process-figures.ts';
import { type CatalogueRecord, publishRecords } from './records.ts';

export interface Felt {
  /** Changes of the catalogue. */
  changes: number;
  /** Of them, until all were applied. */
  seconds: number;
  /** Milliseconds of the projector's processor time, the neighbours' orders included. */
  cpu_ms: number;
  /** Of the neighbours' orders. */
  orders: number;
  p50_ms: number;
  p99_ms: number;
  max_ms: number;
}

export interface FeltOptions {
  installation: Installation;
  query: { url: string };
  projector: { pid: number };
  tokens: ReadonlyMap<string, string>;
  /** One of them on the partition of the catalogue. */
  neighbours: readonly LiveStore[];
  /** Orders of neighbours, a second. */
  rate: number;
}

const VISIT_EVERY_MS = 20;
const SEEN_LIMIT_MS = 180_000;
const STEADY_SECONDS = 4;

/** Changes a store's catalogue, one record after the other, while neighbours have orders. */
export async function feel(
  { installation, query, projector, tokens, neighbours, rate }: FeltOptions,
  storeId: string,
  changes: readonly CatalogueRecord[],
  everyMs: number,
): Promise<Felt> {
  for (const { waiting } of neighbours) waiting.clear();
  const visits = neighbours.map((store) =>
    visit(query.url, tokens.get(store.storeId) ?? '', store, VISIT_EVERY_MS),
  );
  const cpu = await cpuSeconds(projector.pid);
  const began = performance.now();
  let seconds = 0;
  try {
    await Promise.all([
      publishSteadily(installation, neighbours, {
        rate,
        seconds: Math.max(STEADY_SECONDS, Math.ceil((changes.length * everyMs) / 1_000)),
      }),
      (async () => {
        for (const change of changes) {
          await publishRecords(installation, storeId, [change], 0);
          await sleep(everyMs);
        }
        await caughtUp(installation, installation.environment, SEEN_LIMIT_MS);
        seconds = (performance.now() - began) / 1_000;
      })(),
    ]);
    await eventually(
      'the API shows every order',
      () => neighbours.every(({ waiting }) => waiting.size === 0),
      SEEN_LIMIT_MS,
    );
  } finally {
    await Promise.all(visits.map(({ stop }) => stop()));
  }
  const ages = visits.flatMap((visiting) => visiting.ages).toSorted((a, b) => a - b);
  const percentile = (share: number) => ages[Math.ceil(ages.length * share) - 1] ?? Number.NaN;
  return {
    changes: changes.length,
    seconds: rounded(seconds, 1),
    cpu_ms: rounded(((await cpuSeconds(projector.pid)) - cpu) * 1_000, 0),
    orders: ages.length,
    p50_ms: percentile(0.5),
    p99_ms: percentile(0.99),
    max_ms: percentile(1),
  };
}
