/** How a quota is shown. */
import type { OwnQuota } from '../../access/store-quota.ts';

/** A store's quota for people. */
export function inWords(quota: OwnQuota): string {
  if (quota === null) return 'as configured';
  const requests = `${quota.requests} ${quota.requests === 1 ? 'request' : 'requests'}`;
  return quota.window_seconds === undefined
    ? `${requests} in the configured window`
    : `${requests} in ${quota.window_seconds} s`;
}

/** A store's quota for programs; `window_seconds` is `null` where the configured one holds. */
export function toJson(quota: OwnQuota): object | null {
  return quota === null ? null : { requests: quota.requests, window_seconds: quota.window_seconds ?? null };
}
