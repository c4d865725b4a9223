/** A page of 100 changes: at several depths beside the first, the first beside that of the list, whole records beside summaries, several kinds beside one. */
import { STAMPS, type Stamp } from '#shared/read-models/collections.ts';
import { presentEpoch } from '#shared/read-models/feed-epochs.ts';
import { findLiveGeneration } from '#shared/read-models/generation.ts';
import { encodeCursor, generationMark } from '#query/feed/cursor.ts';
import { ALL_KINDS, feedOfKind, feedOfKinds } from '#query/feed/kinds.ts';
import type { Installation } from '#test/installation.ts';
import { type InTurnOptions, measureInTurn, type Side, type SideResult, summarize } from '../in-turn.ts';
import type { Load } from '../load/load.ts';

export interface PagesSetup {
  installation: Installation;
  load: Load;
  query: { pid: number; url: string };
  token: string;
  storeId: string;
  /** A store whose records of several kinds come in turn, and its token. */
  mixed: { storeId: string; token: string };
}

export interface PagesResult {
  list: SideResult;
  first: SideResult;
  /** Median of the rounds' requests a second, of the first page of changes by the list's. */
  ratio: number;
  depths: {
    share: number;
    result: SideResult;
    /** Median of the rounds' ratios of p50, this page by the first. */
    ratio: number;
  }[];
  /** Pages of other feeds from the middle of a store, beside those of one kind's summaries. */
  feeds: { name: string; result: SideResult; other: SideResult; ratio: number }[];
}

const SHARES = [0.25, 0.5, 0.75, 0.999];
const WARM_UP_SECONDS = 1;

export async function measurePages(
  { installation, load, query, token, storeId, mixed }: PagesSetup,
  options: Omit<InTurnOptions, 'warmUpSeconds'>,
): Promise<PagesResult> {
  const { environment } = installation;
  const generation = await findLiveGeneration(installation.databases, environment);
  const at = (path: string, bearer = token): Side => ({
    pid: query.pid,
    url: `${query.url}${path}`,
    headers: { authorization: `Bearer ${bearer}` },
    status: 200,
  });
  /** The address of a page at a share of a store's changes. */
  const pageAt = async (share: number, path: string, feed: string, store = storeId) => {
    const stamp = await generation?.db.collection<Stamp>(STAMPS).findOne({ _id: store });
    if (generation === null || stamp?.position === undefined) throw new Error('the store is empty');
    const cursor = encodeCursor(
      { environment, storeId: store, feed },
      {
        generation: generationMark(generation.marker.id),
        epoch: presentEpoch(stamp.epochs),
        lastDelivered: Math.floor(stamp.position * share),
        snapshotPosition: stamp.position,
        skipDeletionsUpTo: 0,
      },
    );
    return `${path}&after=${cursor}`;
  };
  const ordersAt = async (share: number) =>
    at(await pageAt(share, '/api/order/changes?page_size=100', 'order'));
  const inTurn = { ...options, warmUpSeconds: WARM_UP_SECONDS };

  const compared = summarize(
    await measureInTurn(
      load,
      { ours: at('/api/order/changes?page_size=100'), other: at('/api/order/list?page_size=100') },
      inTurn,
    ),
  );
  const depths: PagesResult['depths'] = [];
  for (const share of SHARES) {
    const rounds = await measureInTurn(
      load,
      { ours: await ordersAt(share), other: await ordersAt(0) },
      inTurn,
    );
    const { ours: result, ratio } = summarize(rounds, ({ ours, other }) => ours.p50_ms / other.p50_ms);
    depths.push({ share, result, ratio });
  }
  const summaries = feedOfKinds(ALL_KINDS, 'summary').name;
  const middle = (path: string, feed: string) => pageAt(0.5, path, feed);
  const middleOfMixed = async (path: string, feed: string) =>
    at(await pageAt(0.5, path, feed, mixed.storeId), mixed.token);
  const pairs: [string, Side, Side][] = [
    [
      'whole orders',
      at(await middle('/api/order/changes?records=whole&page_size=100', feedOfKind('order', 'whole').name)),
      await ordersAt(0.5),
    ],
    [
      'all kinds of a store of orders',
      at(await middle('/api/changes?page_size=100', summaries)),
      await ordersAt(0.5),
    ],
  ];
  for (const size of [20, 100, 1_000]) {
    pairs.push([
      `all kinds in turn, pages of ${size}`,
      await middleOfMixed(`/api/changes?page_size=${size}`, summaries),
      await middleOfMixed(`/api/order/changes?page_size=${size}`, 'order'),
    ]);
  }
  const feeds: PagesResult['feeds'] = [];
  for (const [name, ours, other] of pairs) {
    const found = summarize(
      await measureInTurn(load, { ours, other }, inTurn),
      (round) => round.ours.cpu_ms / round.other.cpu_ms,
    );
    feeds.push({ name, result: found.ours, other: found.other, ratio: found.ratio });
  }
  return { list: compared.other, first: compared.ours, ratio: compared.ratio, depths, feeds };
}
