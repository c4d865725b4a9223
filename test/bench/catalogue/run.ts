/** Catalogues that change and are read: what a change costs, what others feel of it, and what menus and product lists cost. */
import { loadavg } from 'node:os';
import { caughtUp } from '#test/read-models.ts';
import type { Installation } from '#test/installation.ts';
import type { LiveStore } from '../freshness/stream.ts';
import { layGround } from '../ground.ts';
import { describeMachine, type Machine } from '../machine.ts';
import { median, rounded } from '../median.ts';
import { cpuSeconds, peakMebibytes } from '../process-figures.ts';
import { serviceProgram } from '../programs.ts';
import { fetchTokens, publishKeys } from '../query/tokens.ts';
import type { Say } from '../say.ts';
import { feel, type Felt, type FeltOptions } from './neighbours.ts';
import {
  category,
  group,
  largeGroup,
  largeGroupCatalogue,
  product,
  publishRecords,
  sharedGroupCatalogue,
  smallCatalogue,
} from './records.ts';
import { price, type Priced, type PricedOptions } from './requests.ts';

export interface CatalogueOptions {
  products: number;
  stores: number;
  rate: number;
  connections: number;
  rounds: number;
}

interface ProductChanges {
  events: number;
  events_per_second: number;
  /** Milliseconds of the projector's processor time for one event. */
  cpu_ms: number;
}

export interface CatalogueResult extends CatalogueOptions {
  benchmark: 'catalogue';
  date: string;
  command: string;
  machine: Machine;
  load_average: number;
  product_changes: ProductChanges;
  common_group: Felt;
  large_group: Felt;
  requests: Record<string, Priced>;
  /** A menu that is too large to be kept. */
  streamed: { mebibytes: number; seconds: number; service_before_mib: number; service_peak_mib: number };
}

const SHARED = 'shared-groups';
const LARGE = 'large-groups';
const NEIGHBOURS = [0, 1];
const APPLY_LIMIT_MS = 300_000;
/** In the mixed rows, one store of so many has changed since it was asked last. */
const CHANGED_OF = 10;

/** Runs the benchmark; whatever it starts ends with `cleanup`. */
export async function runCatalogueBench(
  options: CatalogueOptions,
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<CatalogueResult> {
  const load = loadavg()[0] ?? 0;
  const { installation, start } = await layGround(say, cleanup, {}, { partitions: NEIGHBOURS.length });
  const stores = Array.from({ length: options.stores }, (_, index) => `small-${index}`);
  const neighbours = NEIGHBOURS.map((partition): LiveStore => {
    return { storeId: `live-${partition}`, partition, waiting: new Map() };
  });
  const keys = await publishKeys(installation, [
    SHARED,
    LARGE,
    ...stores,
    ...neighbours.map(({ storeId }) => storeId),
  ]);
  const projector = await start(await serviceProgram('projector'));
  const applied = () => caughtUp(installation, installation.environment, APPLY_LIMIT_MS);
  await publishRecords(installation, SHARED, sharedGroupCatalogue(options.products), 0);
  await publishRecords(installation, LARGE, largeGroupCatalogue(0), 0);
  for (const storeId of stores) await publishRecords(installation, storeId, smallCatalogue());
  await applied();
  say('filled');
  const query = await start(await serviceProgram('query'));
  const tokens = await fetchTokens(query.url, keys);

  const requests = await priceRequests({ query, tokens, ...options }, installation, stores, say);
  const changed = await changeProducts(installation, projector, options.products);
  say(`product changes: ${changed.events_per_second}/s`);
  const felt: FeltOptions = { installation, query, projector, tokens, neighbours, rate: options.rate };
  const common = await feel(
    felt,
    SHARED,
    Array.from({ length: 100 }, (_, index) => group('common', 20, 400 + index)),
    50,
  );
  say(`the common group: ${common.seconds} s, neighbours at most ${common.max_ms} ms`);
  await publishRecords(installation, LARGE, largeGroupCatalogue(300), 0);
  await applied();
  const large = await feel(
    felt,
    LARGE,
    Array.from({ length: 20 }, (_, index) => largeGroup(3, 400 + index)),
    250,
  );
  say(`large groups: ${large.seconds} s, neighbours at most ${large.max_ms} ms`);
  const { products, stores: count, rate, connections, rounds } = options;
  return {
    benchmark: 'catalogue',
    date: new Date().toISOString().slice(0, 10),
    command: `npm run bench -- catalogue --products ${products} --stores ${count} --rate ${rate} --connections ${connections} --rounds ${rounds}`,
    machine: await describeMachine(installation.mongodb),
    load_average: rounded(load, 1),
    ...options,
    product_changes: changed,
    common_group: common,
    large_group: large,
    requests,
    streamed: await streamMenu(query, tokens.get(LARGE) ?? ''),
  };
}

/** Every product changes, several times, as fast as that is applied. */
async function changeProducts(
  installation: Installation,
  projector: { pid: number },
  products: number,
): Promise<ProductChanges> {
  const rounds = 4;
  const cpu = await cpuSeconds(projector.pid);
  const began = performance.now();
  for (let round = 1; round <= rounds; round += 1) {
    await publishRecords(
      installation,
      SHARED,
      Array.from({ length: products }, (_, index) =>
        product(index, 40, ['common', `g${index % 100}`, `g${(index * 7 + 1) % 100}`], 2_000 + round),
      ),
      0,
    );
  }
  await caughtUp(installation, installation.environment, APPLY_LIMIT_MS);
  const seconds = (performance.now() - began) / 1_000;
  const events = rounds * products;
  return {
    events,
    events_per_second: rounded(events / seconds, 0),
    cpu_ms: rounded((((await cpuSeconds(projector.pid)) - cpu) * 1_000) / events, 3),
  };
}

async function priceRequests(
  options: PricedOptions & { rounds: number },
  installation: Installation,
  stores: readonly string[],
  say: Say,
): Promise<Record<string, Priced>> {
  let cents = 2_000;
  const touch = async (changed: readonly string[]) => {
    cents += 1;
    for (const storeId of changed) {
      await publishRecords(installation, storeId, [product(1, 8, ['g1', 'g6'], cents)]);
    }
    await caughtUp(installation);
  };
  const moveCategory = async () => {
    cents += 1;
    for (const storeId of stores) await publishRecords(installation, storeId, [category(7, cents)]);
    await caughtUp(installation);
  };
  const some = stores.filter((_, index) => index % CHANGED_OF === 0);
  const often = Array.from({ length: 5 }, () => stores).flat();
  const menu = '/api/menu/';
  const list = '/api/product/list';
  const rows: [name: string, path: string, asked: readonly string[], before: () => Promise<void>][] = [
    ['menu, nothing changed', menu, often, () => Promise.resolve()],
    ['menu, one of ten stores changed', menu, stores, () => touch(some)],
    ['menu, every store changed', menu, stores, () => touch(stores)],
    ['product list, nothing changed', list, often, () => Promise.resolve()],
    ['product list, every store changed', list, stores, () => touch(stores)],
    ['product list, a category of every store moved', list, stores, moveCategory],
    ['product details', '/api/product/details/?product_id=p9', often, () => Promise.resolve()],
  ];
  const results: Record<string, Priced> = {};
  for (const [name, path, asked, before] of rows) {
    await price(options, path, asked);
    const rounds: Priced[] = [];
    for (let round = 0; round < options.rounds; round += 1) {
      await before();
      rounds.push(await price(options, path, asked));
    }
    results[name] = {
      requests: asked.length,
      requests_per_second: median(rounds.map((one) => one.requests_per_second)),
      cpu_ms: rounded(median(rounds.map((one) => one.cpu_ms)), 3),
    };
    say(`${name}: ${results[name].cpu_ms} ms of processor time`);
  }
  for (const path of [menu, list]) {
    const name = path === menu ? 'menu of 2,000 products' : 'product list of 2,000 products';
    const asked = Array.from({ length: 20 }, () => SHARED);
    await price(options, path, asked);
    results[`${name}, nothing changed`] = await price(options, path, asked);
    const rounds: Priced[] = [];
    for (let round = 0; round < options.rounds; round += 1) {
      await publishRecords(installation, SHARED, [group('common', 20, 600 + round)], 0);
      await caughtUp(installation);
      rounds.push(await price({ ...options, connections: 1 }, path, [SHARED]));
    }
    results[`${name}, just changed`] = {
      requests: options.rounds,
      requests_per_second: median(rounds.map((one) => one.requests_per_second)),
      cpu_ms: rounded(median(rounds.map((one) => one.cpu_ms)), 3),
    };
    say(name);
  }
  return results;
}

async function streamMenu(query: { url: string; pid: number }, token: string) {
  const before = await peakMebibytes(query.pid);
  const began = performance.now();
  const response = await fetch(`${query.url}/api/menu/`, {
    headers: { authorization: `Bearer ${token}`, 'accept-encoding': 'identity' },
  });
  let bytes = 0;
  if (response.status !== 200 || response.body === null) throw new Error(`answered ${response.status}`);
  for await (const part of response.body) bytes += (part as Uint8Array).byteLength;
  return {
    mebibytes: rounded(bytes / 1_048_576, 0),
    seconds: rounded((performance.now() - began) / 1_000, 1),
    service_before_mib: rounded(before, 0),
    service_peak_mib: rounded(await peakMebibytes(query.pid), 0),
  };
}
