/** `quota show`: which stores have a quota of their own. */
import type { Command } from 'commander';
import { controlCollections, type StoreAccess, storeAccessId } from '#shared/access/access-keys.ts';
import { withServers } from '../../connection/servers.ts';
import type { Servers } from '../../connection/servers.ts';
import {
  chooseEnvironments,
  environmentOption,
  jsonOption,
  storeOption,
  limitOption,
} from '../../options.ts';
import { print, printJson, remark } from '../../output/print.ts';
import { renderTable } from '../../output/table.ts';
import { inWords, toJson } from './in-words.ts';

interface Flags {
  store?: string;
  environment?: string;
  limit: number;
  json?: true;
}

type Row = Pick<StoreAccess, 'store_id' | 'environment' | 'quota'>;

const HELP = `
Of a store it says also that the configured quota holds: QUOTA_REQUESTS and
QUOTA_WINDOW_SECONDS of the query service.

Examples:
  npm run store-data -- quota show
  npm run store-data -- quota show -e production -s s1 --json`;

export function addQuotaShowCommand(quota: Command): void {
  quota
    .command('show')
    .description('Show the stores that have a quota of their own')
    .addOption(storeOption('this store, whatever its quota'))
    .addOption(environmentOption('only in this environment'))
    .addOption(limitOption(100))
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(show);
}

async function show(flags: Flags): Promise<void> {
  await withServers(async (servers) => {
    const environments = chooseEnvironments(servers.config, flags.environment);
    const found =
      flags.store === undefined
        ? await withOwnQuota(servers, environments, flags.limit + 1)
        : await ofStore(servers, environments, flags.store);
    const shown = found.slice(0, flags.limit);
    if (flags.json) {
      printJson(
        shown.map(({ store_id, environment, quota }) => ({
          store_id,
          environment,
          quota: toJson(quota ?? null),
        })),
      );
    } else if (shown.length === 0) print('no store has a quota of its own');
    else {
      print(
        renderTable(
          [{ title: 'STORE' }, { title: 'ENVIRONMENT' }, { title: 'QUOTA' }],
          shown.map(({ store_id, environment, quota }) => [store_id, environment, inWords(quota ?? null)]),
        ),
      );
    }
    if (found.length > shown.length) remark(`there are more than ${flags.limit}: --limit shows more`);
  });
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
