/** The quota of a store in an environment, shared by all its tokens and all instances (rule R8.1): what a count of it means. */
import type { Config } from '#shared/config.ts';
import type { StoreQuota } from '#shared/access/store-state.ts';

export interface QuotaState {
  /** Whether this request is within the quota. */
  allowed: boolean;
  limit: number;
  windowSeconds: number;
  remaining: number;
  /** Whole seconds after which the window has ended for sure, at least 1. */
  resetSeconds: number;
}

/** A request that was counted. */
export interface Counted {
  /** Requests of this window, this one included. A window begins with its first request. */
  consumed: number;
  /** Until the window ends. */
  milliseconds: number;
}

/** What a count means under the quota of a store: its own, or what the configuration says. */
export function quotaState(
  { consumed, milliseconds }: Counted,
  settings: Config['query']['quota'],
  own: StoreQuota | null,
): QuotaState {
  const limit = own?.requests ?? settings.requests;
  const windowSeconds = own?.windowSeconds ?? settings.windowSeconds;
  return {
    allowed: consumed <= limit,
    limit,
    windowSeconds,
    remaining: Math.max(0, limit - consumed),
    // A count still holds in the millisecond in which it ends, so a full second is not enough for one.
    resetSeconds: Math.min(windowSeconds, Math.floor(milliseconds / 1_000) + 1),
  };
}
