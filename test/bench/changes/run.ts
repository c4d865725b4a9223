/** `npm run bench -- changes`: pages of changes at any depth. */
import { caughtUp } from '#test/read-models.ts';
import { type Bench, grouped, numberOption, roundsOption, secondsOption, table } from '../frame.ts';
import type { BenchContext } from '../context.ts';
import { startLoad } from '../load/load.ts';
import { serviceProgram } from '../service.ts';
import { publishRecords } from '../query/setup.ts';
import {
  categoryRecord,
  customerRecord,
  orderRecord,
  reviewRecord,
  type StoreRecord,
  times,
} from '../query/stores.ts';
import { fetchTokens, publishKeys } from '../query/tokens.ts';
import { say } from '../say.ts';
import { measurePages, type PageRow } from './pages.ts';

interface ChangesOptions {
  records: number;
  seconds: number;
  rounds: number;
}

const LARGE = 'large';
/** A store with alternating kinds of records. */
const MIXED = 'mixed';
const MIXED_SHARE = 0.1;
const FILL_LIMIT_MS = 900_000;

async function run(context: BenchContext, options: ChangesOptions): Promise<string> {
  const { installation, start, cleanup } = context;
  await publishKeys(installation, [LARGE, MIXED]);
  await start(await serviceProgram('projector'));
  const { records } = options;
  await publishRecords(installation, LARGE, times(records, orderAt));
  await publishRecords(installation, MIXED, times(records * MIXED_SHARE, anythingAt));
  await caughtUp(installation, installation.environment, FILL_LIMIT_MS);
  say('filled');
  const query = await start(await serviceProgram('query'));
  const tokens = await fetchTokens(query.url, [LARGE, MIXED]);
  const asked = (storeId: string) => ({ storeId, token: tokens.get(storeId) ?? '' });
  const pages = await measurePages(
    installation,
    startLoad(cleanup),
    query,
    { orders: asked(LARGE), mixed: asked(MIXED) },
    options,
  );
  return render(pages, records);
}

const CUSTOMERS = 4_000;
const orderAt = (index: number) => orderRecord(index, CUSTOMERS);

function anythingAt(index: number): StoreRecord {
  const kinds = [orderAt, customerRecord, categoryRecord];
  return (kinds[index % 4] ?? ((number) => reviewRecord(number, CUSTOMERS)))(index);
}

function render(pages: readonly PageRow[], records: number): string {
  const titles = ['p50 ms', 'service ms', 'MongoDB ms'];
  return table(
    [
      `a page of 100, of ${grouped(records)} orders`,
      ...titles,
      'compared with',
      ...titles,
      'cpu ratio',
    ],
    pages.map(({ name, ours, otherName, other, ratio }) => {
      const [own = [], others = []] = [ours, other].map((side) =>
        [side.p50_ms, side.cpu_ms, side.mongodb_ms].map(String),
      );
      return [name, ...own, otherName, ...others, `${ratio}×`];
    }),
  );
}

export const changesBench: Bench<ChangesOptions> = {
  name: 'changes',
  description: 'Pages of changes at any depth.',
  options: [
    numberOption('records', 'orders of the large store', 200_000, 1_000),
    secondsOption(2),
    roundsOption(),
  ],
  run,
};
