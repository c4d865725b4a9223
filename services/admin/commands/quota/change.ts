/** `quota set` and `quota reset`. */
import { Command } from '@commander-js/extra-typings';
import { type OwnQuota, writeQuota } from '../../access/store-quota.ts';
import { remarkUnknownStore } from '../../access/store-record.ts';
import { audited } from '../../audit/audited.ts';
import { withServers } from '../../connection/servers.ts';
import { chooseEnvironment, environmentOption, jsonOption, storeOption, wholeNumber } from '../../options.ts';
import { printResult, remark } from '../../output/print.ts';
import { renderFacts } from '../../output/table.ts';
import { inWords, toJson } from './in-words.ts';

const SET_HELP = `
It counts from the next request on, in every query service. Requests made in the
present window stay counted; another window begins anew.

Examples:
  npm run store-data -- quota set -e production -s s1 --requests 6000
  npm run store-data -- quota set -e production -s s1 --requests 100 --window 1`;

const RESET_HELP = `
QUOTA_REQUESTS and QUOTA_WINDOW_SECONDS hold again, from the next request on.

Example:
  npm run store-data -- quota reset -e production -s s1`;

export const setCommand = () =>
  new Command('set')
    .description('Give a store a quota of its own, at once')
    .addOption(storeOption('store').makeOptionMandatory())
    .addOption(environmentOption('environment; needed where there are several'))
    .requiredOption('--requests <n>', 'requests in a window', wholeNumber(1, 1_000_000_000))
    .option('--window <seconds>', 'its window, if not the configured one', wholeNumber(1, 86_400))
    .addOption(jsonOption())
    .addHelpText('after', SET_HELP)
    .action((flags) => {
      const { requests, window } = flags;
      return change(flags, { requests, ...(window === undefined ? {} : { window_seconds: window }) });
    });

export const resetCommand = () =>
  new Command('reset')
    .description('Let the configured quota hold for a store again, at once')
    .addOption(storeOption('store').makeOptionMandatory())
    .addOption(environmentOption('environment; needed where there are several'))
    .addOption(jsonOption())
    .addHelpText('after', RESET_HELP)
    .action((flags) => change(flags, null));

interface Flags {
  store: string;
  environment?: string | undefined;
  json?: true | undefined;
}

async function change(flags: Flags, quota: OwnQuota): Promise<void> {
  const { store } = flags;
  await withServers(async (servers) => {
    const environment = chooseEnvironment(servers.config, flags.environment);
    await remarkUnknownStore(servers, environment, store);
    const about = {
      action: quota === null ? 'quota.reset' : 'quota.set',
      environment,
      store_id: store,
      details: { ...quota },
    } as const;
    const changed = await audited(servers, about, async () => {
      const result = await writeQuota(servers, environment, store, quota);
      return { result, details: { changed: result } };
    });
    if (!changed) remark(`note: it was ${inWords(quota)} already`);
    printResult(
      flags,
      { store_id: store, environment, quota: toJson(quota), changed },
      renderFacts([
        ['store', store],
        ['environment', environment],
        ['quota', inWords(quota)],
      ]),
    );
  });
}
