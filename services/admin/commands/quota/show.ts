/** `quota show`: which stores have a quota of their own. */
import { Command } from '@commander-js/extra-typings';
import { controlCollections, type StoreAccess, storeAccessId } from '#shared/access/access-keys.ts';
import { type Servers, withServers } from '../../connection/servers.ts';
import {
  chooseEnvironments,
  environmentOption,
  jsonOption,
  storeOption,
  limitOption,
} from '../../options.ts';
import { printResult, remark } from '../../output/print.ts';
import { tableOf } from '../../output/table.ts';
import { inWords, toJson } from './in-words.ts';

type Row = Pick<StoreAccess, 'store_id' | 'environment' | 'quota'>;

const HELP = `
Of a store it says also that the configured quota holds: QUOTA_REQUESTS and
QUOTA_WINDOW_SECONDS of the query service.

Examples:
  npm run store-data -- quota show
  npm run store-data -- quota show -e production -s s1 --json`;

export const showCommand = () =>
  new Command('show')
    .description('Show the stores that have a quota of their own')
    .addOption(storeOption('this store, whatever its quota'))
    .addOption(environmentOption('only in this environment'))
    .addOption(limitOption(100))
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action((flags) =>
      withServers(async (servers) => {
        const environments = chooseEnvironments(servers.config, flags.environment);
        const found =
          flags.store === undefined
            ? await withOwnQuota(servers, environments, flags.limit + 1)
            : await ofStore(servers, environments, flags.store);
        const shown = found.slice(0, flags.limit);
        const quotas = shown.map(({ store_id, environment, quota }) => ({
          store_id,
          environment,
          quota: toJson(quota ?? null),
        }));
        printResult(flags, quotas, shown.length === 0 ? 'no store has a quota of its own' : toTable(shown));
        if (found.length > shown.length) remark(`there are more than ${flags.limit}: --limit shows more`);
      }),
    );

function toTable(rows: readonly Row[]): string {
  return tableOf(rows, [
    ['STORE', ({ store_id }) => store_id],
    ['ENVIRONMENT', ({ environment }) => environment],
    ['QUOTA', ({ quota }) => inWords(quota ?? null)],
  ]);
}

async function withOwnQuota(servers: Servers, environments: string[], limit: number): Promise<Row[]> {
  const { stores } = controlCollections(await servers.control());
  const filter = { environment: { $in: environments }, quota: { $exists: true } };
  return stores.find(filter, { sort: { environment: 1, store_id: 1 }, limit }).toArray();
}

async function ofStore(servers: Servers, environments: string[], storeId: string): Promise<Row[]> {
  const { stores } = controlCollections(await servers.control());
  const ids = environments.map((environment) => storeAccessId(environment, storeId));
  const found = await stores.find({ _id: { $in: ids } }).toArray();
  return environments.map(
    (environment) =>
      found.find((store) => store.environment === environment) ?? { store_id: storeId, environment },
  );
}
