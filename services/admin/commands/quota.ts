/** `quota`: the quotas of stores that differ from the configured one. */
import type { OwnQuota } from '#shared/events/access-event.ts';
import { changeAccess, remarkUnknownStore, quotaSubject } from '../access/change.ts';
import { openEnvironment } from '../servers.ts';
import { command, oneEnvironmentOption, storeOption, wholeNumber } from '../options.ts';
import { printFacts, remark } from '../output.ts';

export const setCommand = () =>
  command('set', 'Give a store a quota of its own, at once')
    .addOption(storeOption('store').makeOptionMandatory())
    .addOption(oneEnvironmentOption())
    .requiredOption('--requests <n>', 'requests in a window', wholeNumber(1, 1_000_000_000))
    .option('--window <seconds>', 'its window, if not the configured one', wholeNumber(1, 86_400))
    .action((flags) => {
      const { requests, window } = flags;
      return change(flags, {
        requests,
        ...(window !== undefined && { window_seconds: window }),
      });
    });

export const resetCommand = () =>
  command('reset', 'Let the configured quota hold for a store again, at once')
    .addOption(storeOption('store').makeOptionMandatory())
    .addOption(oneEnvironmentOption())
    .action((flags) => change(flags, null));

async function change(
  flags: { store: string; environment?: string | undefined },
  quota: OwnQuota,
): Promise<void> {
  const { store } = flags;
  await using chosen = await openEnvironment(flags);
  const { servers, name: environment } = chosen;
  await remarkUnknownStore(chosen, store);
  // Without Redis the change could not be completed.
  await servers.redis();
  const subject = quotaSubject(await servers.access(), { environment, store_id: store });
  const action = quota === null ? 'quota.reset' : 'quota.set';
  const about = { action, details: { ...quota } } as const;
  const { changed } = await changeAccess(servers, about, subject, () => ({ quota }));
  if (!changed) remark(`note: it was ${inWords(quota)} already`);
  const result = { store_id: store, environment, quota: toJson(quota), changed };
  printFacts(result, { ...result, quota: inWords(quota) });
}

export function inWords(quota: ReturnType<typeof toJson> | OwnQuota | undefined): string {
  if (!quota) return 'as configured';
  const { requests, window_seconds: window } = quota;
  return `${requests} ${requests === 1 ? 'request' : 'requests'} in ${window ? `${window} s` : 'the configured window'}`;
}

/** `window_seconds` is `null` if the configured window holds. */
export function toJson(quota: OwnQuota | undefined) {
  return quota ? { requests: quota.requests, window_seconds: quota.window_seconds ?? null } : null;
}
