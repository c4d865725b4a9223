/**
 * What requests must know of a store, live in Redis beside the grants: whether it is blocked, and its own quota where
 * it has one. Both are one member (`active`, `blocked`, `active 100`, `active 100 60`), so that they come with
 * one read, and a lost one is loaded from MongoDB with the other.
 */
import { isBlocked, type StoreAccess } from './access-keys.ts';

export interface StoreState {
  blocked: boolean;
  /** `null` where the configured quota holds. */
  quota: StoreQuota | null;
}

/** A quota of a store's own. */
export interface StoreQuota {
  requests: number;
  /** `null` where the configured window holds. */
  windowSeconds: number | null;
}

/** What the control database says of a store; `null` is a store about which nothing was said yet. */
export function storeStateOf(store: StoreAccess | null): StoreState {
  const { quota } = store ?? {};
  return {
    blocked: isBlocked(store),
    quota:
      quota === undefined ? null : { requests: quota.requests, windowSeconds: quota.window_seconds ?? null },
  };
}

/** A store's state as the member of its sorted set. */
export function encodeStoreState({ blocked, quota }: StoreState): string {
  const words: (string | number)[] = [blocked ? 'blocked' : 'active'];
  if (quota !== null) {
    words.push(quota.requests);
    if (quota.windowSeconds !== null) words.push(quota.windowSeconds);
  }
  return words.join(' ');
}

const MEMBER = /^(?<status>active|blocked)(?: (?<requests>\d{1,15})(?: (?<window>\d{1,15}))?)?$/;

/** The state of a member; `null` where there is none that can be read. */
export function decodeStoreState(member: string | undefined): StoreState | null {
  const groups = member === undefined ? undefined : MEMBER.exec(member)?.groups;
  if (groups === undefined) return null;
  const { status, requests, window } = groups;
  return {
    blocked: status === 'blocked',
    quota:
      requests === undefined
        ? null
        : { requests: Number(requests), windowSeconds: window === undefined ? null : Number(window) },
  };
}
