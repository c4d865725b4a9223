/**
 * A page of changes, compared with the list's first page, the feed's first page, summaries, or a
 * single kind.
 */
import { encodeCursor, generationMark } from '#query/feed/cursor.ts';
import { ALL_KINDS, feedOfKind, feedOfKinds } from '#query/feed/kinds.ts';
import { STAMPS, type Stamp } from '#shared/read-models/collections.ts';
import { presentEpoch } from '#shared/read-models/feed-epochs.ts';
import { findLiveGeneration } from '#shared/read-models/generation.ts';
import type { Installation } from '#test/installation.ts';
import {
  costRatio,
  type InTurnOptions,
  measureInTurn,
  type Side,
  type SideResult,
  summarize,
} from '../in-turn.ts';
import type { Load } from '../load/load.ts';
import { pidOfMongodb } from '../process-figures.ts';

export interface PageRow {
  name: string;
  ours: SideResult;
  otherName: string;
  other: SideResult;
  /** The median ratio of processor time including MongoDB's, ours divided by the other's. */
  ratio: number;
}

interface Asked {
  storeId: string;
  token: string;
}

/** One, since several connections would share a varying number of reads. */
const CONNECTIONS = 1;

/** @param orders a store of orders. @param mixed a store with alternating kinds of records. */
export async function measurePages(
  installation: Installation,
  load: Load,
  query: { pid: number; url: string },
  { orders, mixed }: { orders: Asked; mixed: Asked },
  options: Pick<InTurnOptions, 'seconds' | 'rounds'>,
): Promise<PageRow[]> {
  const { environment } = installation;
  const generation = await findLiveGeneration(installation.databases, environment);
  const mongod = await pidOfMongodb(installation.mongodb);
  /** A feed page that begins after a share of a store's changes. */
  const at = async (
    share: number,
    path: string,
    feed: string | null,
    { storeId, token } = orders,
  ): Promise<Side> => {
    const stamp = await generation?.db.collection<Stamp>(STAMPS).findOne({ _id: storeId });
    if (generation === null || stamp?.position === undefined) throw new Error('the store is empty');
    const position = {
      generation: generationMark(generation.marker.id),
      epoch: presentEpoch(stamp.epochs),
      lastDelivered: Math.floor(stamp.position * share),
      snapshotPosition: stamp.position,
      skipDeletionsUpTo: 0,
    };
    const after =
      feed === null ? '' : `&after=${encodeCursor({ environment, storeId, feed }, position)}`;
    const headers = { authorization: `Bearer ${token}` };
    return { pid: query.pid, mongod, url: `${query.url}${path}${after}`, headers, status: 200 };
  };
  const page = '/api/order/changes?page_size=100';
  const summaries = feedOfKinds(ALL_KINDS, 'summary').name;
  const whole = feedOfKind('order', 'whole').name;
  const first = await at(0, page, 'order');
  const middle = await at(0.5, page, 'order');
  const listed = await at(0, '/api/order/list?page_size=100', null);
  const wholeOrders = await at(0.5, '/api/order/changes?records=whole&page_size=100', whole);
  const allKinds = await at(0.5, '/api/changes?page_size=100', summaries);
  const pairs: [name: string, ours: Side, otherName: string, other: Side][] = [
    ['the first', await at(0, page, null), 'the list’s first', listed],
    ['at 50 %', middle, 'the first', first],
    ['at 99.9 %', await at(0.999, page, 'order'), 'the first', first],
    ['whole orders', wholeOrders, 'summaries of orders', middle],
    ['all kinds of a store of orders', allKinds, 'of orders', middle],
  ];
  for (const size of [20, 100, 1_000]) {
    const all = await at(0.5, `/api/changes?page_size=${size}`, summaries, mixed);
    const one = await at(0.5, `/api/order/changes?page_size=${size}`, 'order', mixed);
    pairs.push([`all kinds in turn, pages of ${size}`, all, 'of orders', one]);
    pairs.push([`the same with gzip`, gzipped(all), 'of orders', gzipped(one)]);
  }
  const rows: PageRow[] = [];
  for (const [name, ours, otherName, other] of pairs) {
    const rounds = await measureInTurn(
      load,
      { ours, other },
      { ...options, connections: CONNECTIONS },
    );
    rows.push({ name, otherName, ...summarize(rounds, costRatio) });
  }
  return rows;
}

function gzipped(side: Side): Side {
  return { ...side, headers: { ...side.headers, 'accept-encoding': 'gzip' } };
}
