/** A page of 100 changes: at several depths beside the first, the first beside that of the list, and a whole copy. */
import { STAMPS, type Stamp } from '#shared/read-models/collections.ts';
import { presentEpoch } from '#shared/read-models/feed-epochs.ts';
import { findLiveGeneration } from '#shared/read-models/generation.ts';
import { encodeCursor, generationMark } from '#query/feed/cursor.ts';
import type { Installation } from '#test/installation.ts';
import { type InTurnOptions, measureInTurn, type Side, type SideResult, summarize } from '../in-turn.ts';
import type { Load } from '../load/load.ts';
import { rounded } from '../median.ts';

export interface PagesSetup {
  installation: Installation;
  load: Load;
  query: { pid: number; url: string };
  token: string;
  storeId: string;
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
  copy: { pages: number; records: number; seconds: number };
}

const SHARES = [0.25, 0.5, 0.75, 0.999];
const WARM_UP_SECONDS = 1;

export async function measurePages(
  { installation, load, query, token, storeId }: PagesSetup,
  options: Omit<InTurnOptions, 'warmUpSeconds'>,
): Promise<PagesResult> {
  const at = (path: string): Side => ({
    pid: query.pid,
    url: `${query.url}${path}`,
    headers: { authorization: `Bearer ${token}` },
    status: 200,
  });
  const { environment } = installation;
  const generation = await findLiveGeneration(installation.databases, environment);
  const stamp = await generation?.db.collection<Stamp>(STAMPS).findOne({ _id: storeId });
  if (generation === null || stamp?.position === undefined) throw new Error('the store is empty');
  const snapshotPosition = stamp.position;
  const cursorAt = (lastDelivered: number) =>
    encodeCursor(
      { environment, storeId, feed: 'order' },
      {
        generation: generationMark(generation.marker.id),
        epoch: presentEpoch(stamp.epochs),
        lastDelivered,
        snapshotPosition,
        skipDeletionsUpTo: 0,
      },
    );
  const pageAt = (lastDelivered: number) =>
    at(`/api/order/changes?page_size=100&after=${cursorAt(lastDelivered)}`);
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
      { ours: pageAt(Math.floor(snapshotPosition * share)), other: pageAt(0) },
      inTurn,
    );
    const { ours: result, ratio } = summarize(rounds, ({ ours, other }) => ours.p50_ms / other.p50_ms);
    depths.push({ share, result, ratio });
  }
  return {
    list: compared.other,
    first: compared.ours,
    ratio: compared.ratio,
    depths,
    copy: await copyAll(query.url, token),
  };
}

/** Reads everything, one page after the other. */
async function copyAll(url: string, token: string): Promise<PagesResult['copy']> {
  const began = performance.now();
  let pages = 0;
  let records = 0;
  let after = '';
  for (;;) {
    const response = await fetch(`${url}/api/order/changes?page_size=100${after}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const page = (await response.json()) as { results: unknown[]; next: string; more: boolean };
    pages += 1;
    records += page.results.length;
    after = `&after=${page.next}`;
    if (!page.more) break;
  }
  return { pages, records, seconds: rounded((performance.now() - began) / 1_000, 1) };
}
