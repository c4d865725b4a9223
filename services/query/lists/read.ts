/** Reads a page of a list with the first of its strategies that suits and does not give up. */
import { inBatches } from '#shared/waiting.ts';
import { BY_ID, COLLECTIONS, documentsWith } from '#shared/read-models/collections.ts';
import {
  bodiesOf,
  type CountedPage,
  foundPage,
  headOf,
  type PageRow,
  shownOf,
} from '../read/page.ts';
import type { View } from '../read/shared-reads.ts';
import {
  type Body,
  type Found,
  lastStamp,
  offsetOf,
  type ReadInSnapshot,
} from '../read/snapshot.ts';
import { type ListQuery, type ListRequest, queryOf } from './request.ts';

/** A store with larger pages of a list reads that list alone. */
const MAX_SHARED_PAGE_BYTES = 1_048_576;

/** The answer of a list. */
export async function readList(view: View, request: ListRequest): Promise<Found<Body> | null> {
  const { storeId, shared } = view;
  const readShared = async () => {
    const page = await readPage(view, request);
    const answer = () => foundPage(page, request);
    return page.isShared ? shared.answerOf(page.rows, request.pageSize, answer) : answer();
  };
  return shared.sharedUnlessLarge(
    `${request.list.entity}/list/${storeId}`,
    MAX_SHARED_PAGE_BYTES,
    readShared,
    () =>
      shared.streamed(view, async (own, { read }) => {
        const page = await readPage(own, request);
        return { stamp: page.stamp, portions: portionsOf(read, view, request, page) };
      }),
  );
}

/** Records of one read: 16 MiB of the largest. */
const RECORDS_OF_A_PORTION = 8;

/** A page of which only the ids were read. */
async function* portionsOf(
  read: ReadInSnapshot,
  { redactErased }: View,
  request: ListRequest,
  page: CountedPage,
): AsyncGenerator<Buffer> {
  const ids = page.rows.flatMap(({ id }) => id ?? []);
  yield Buffer.from(headOf(page, request));
  let separator = '';
  for await (const some of inBatches(ids, RECORDS_OF_A_PORTION)) {
    const stages = [
      { $match: documentsWith(some) },
      ...shownOf({ redactErased }, request.list.entity, { _id: 1 }),
    ];
    const found = await read<PageRow & { _id: string }>(
      COLLECTIONS[request.list.entity],
      stages,
      BY_ID,
    );
    const rows = new Map(found.map((row) => [row._id, row]));
    const bodies = bodiesOf({ ...page, rows: some.flatMap((id) => rows.get(id) ?? []) });
    yield Buffer.from(separator + bodies.join(','), 'latin1');
    separator = ',';
  }
  yield Buffer.from(']}');
}

/**
 * Bounds of time are local: the page is read with the last known offset, and again if the snapshot
 * has another.
 */
async function readPage(view: View, request: ListRequest): Promise<CountedPage> {
  let stamp = lastStamp(view, view.storeId);
  for (;;) {
    const query = queryOf(request, view.storeId, stamp);
    const page = await tryStrategies(view, query);
    ({ stamp } = page);
    const { created, updated } = query.conditions;
    if ((created ?? updated) === undefined || offsetOf(stamp) === offsetOf(query.stamp))
      return page;
  }
}

async function tryStrategies(view: View, query: ListQuery): Promise<CountedPage> {
  for (const { isCheap, suits, read } of query.list.strategies) {
    if (!suits(query)) continue;
    const page = isCheap
      ? await read(view, query)
      : await view.shared.alone(view, (own) => read(own, query));
    if (page !== null) return page;
  }
  throw new Error(`no strategy read the list of ${query.list.entity}`);
}
