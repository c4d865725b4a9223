/** How latency grows: with the depth of a page, and with the records of a store. */
import type { Load } from '../../load/load.ts';
import { prepare } from '../agreement.ts';
import { ask, type BenchRequest } from '../requests.ts';
import { rounded } from '../../median.ts';
import type { Setup } from '../setup.ts';
import type { Curve, Point } from './result.ts';
import type { ScaleStore } from './stores.ts';

const STEPS = 8;
const PAGE_SIZE = 20;
const SECONDS = 1;

/** A curve for each list whose records were asked for. @param stores the deepest first. */
export async function measureCurves(
  load: Load,
  setup: Pick<Setup, 'sides' | 'tokens'>,
  stores: readonly [ScaleStore, ...ScaleStore[]],
): Promise<Curve[]> {
  const latency = async (request: BenchRequest): Promise<Omit<Point, 'at'>> => {
    const { ours, usualWay } = await prepare(request, setup.sides, setup.tokens);
    const run = async (side: typeof ours) =>
      rounded((await load({ ...side, connections: 1, seconds: SECONDS })).p50_ms, 2);
    return { ours_ms: await run(ours), usual_way_ms: await run(usualWay) };
  };
  const curve = async (
    list: string,
    path: string,
    recordsOf: (store: ScaleStore) => number,
  ): Promise<Curve> => {
    const at = (store: ScaleStore, depth: number) => {
      const last = Math.max(1, Math.ceil(recordsOf(store) / PAGE_SIZE));
      const page = 1 + Math.floor((last - 1) * depth);
      return latency(ask(`${list}, page ${page}`, `${path}?page=${page}`, store.storeId));
    };
    const byDepth: Point[] = [];
    for (let step = 0; step <= STEPS; step += 1) {
      byDepth.push({ at: step / STEPS, ...(await at(stores[0], step / STEPS)) });
    }
    const byRecords: Point[] = [];
    for (const store of stores.toReversed())
      byRecords.push({ at: recordsOf(store), ...(await at(store, 1 / 2)) });
    return { list, by_depth: byDepth, by_records: byRecords };
  };
  const [{ orders, customers }] = stores;
  return [
    ...(orders > 0 ? [await curve('order list', '/api/order/list', (store) => store.orders)] : []),
    ...(customers > 0
      ? [await curve('customer list', '/api/customer/list', (store) => store.customers)]
      : []),
  ];
}
