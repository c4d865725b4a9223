/**
 * Grants: what a key may do now, and whether its store is blocked, live in Redis.
 *
 * Each is a sorted set that holds one member, scored by its version. Writing adds the member and drops all but
 * the highest score in one MULTI: a write that comes late with an older version removes itself.
 */
import type { ChainableCommander, Redis } from 'ioredis';
import type { Collection } from 'mongodb';
import type { KeyStatus, Scope } from '../events/access-event.ts';
import { SCOPES } from '../events/access-event.ts';
import type { AccessKey, StoreAccess } from './access-keys.ts';
import { redisKeys } from './redis-keys.ts';
import { encodeStoreState, storeStateOf } from './store-state.ts';

export interface Grant {
  status: KeyStatus;
  /** In the order of `SCOPES`. */
  scopes: Scope[];
}

/** A grant as the member of its sorted set: `active store crm`. */
export function encodeGrant(grant: Grant): string {
  return [grant.status, ...grant.scopes].join(' ');
}

/** The grant of a member; `null` where there is none. */
export function decodeGrant(member: string | undefined): Grant | null {
  if (member === undefined) return null;
  const [status, ...scopes] = member.split(' ');
  if (status !== 'active' && status !== 'inactive' && status !== 'revoked') return null;
  return { status, scopes: SCOPES.filter((scope) => scopes.includes(scope)) };
}

/** Adds the writing of a version to a MULTI. */
export function setVersioned(
  multi: ChainableCommander,
  key: string,
  version: number,
  member: string,
): ChainableCommander {
  return multi.zadd(key, version, member).zremrangebyrank(key, 0, -2);
}

/** Publishes a key's grant to Redis. An older version than the one there changes nothing. */
export async function publishGrant(redis: Redis, prefix: string, key: AccessKey): Promise<void> {
  const { grant } = redisKeys(prefix, key.environment, key.store_id);
  await execute(setVersioned(redis.multi(), grant(key._id), key.version, encodeGrant(key)));
}

/** Publishes whether a store is blocked. An older version than the one there changes nothing. */
export async function publishStoreAccess(redis: Redis, prefix: string, store: StoreAccess): Promise<void> {
  const keys = redisKeys(prefix, store.environment, store.store_id);
  const member = encodeStoreState(storeStateOf(store));
  await execute(setVersioned(redis.multi(), keys.storeAccess, store.version, member));
}

/** Runs a MULTI; an error of any of its commands is thrown. */
export async function execute(multi: ChainableCommander): Promise<unknown[]> {
  const results = await multi.exec();
  if (results === null) throw new Error('Connection is closed');
  return results.map(([error, result]) => {
    if (error !== null) throw error;
    return result;
  });
}

/** Publishes a record and, where no newer version came meanwhile, notes in MongoDB that Redis has it. */
export async function publishAccess(
  redis: Redis,
  prefix: string,
  record:
    { key: AccessKey; keys: Collection<AccessKey> } | { store: StoreAccess; stores: Collection<StoreAccess> },
): Promise<void> {
  if ('key' in record) {
    await publishGrant(redis, prefix, record.key);
    await record.keys.updateOne(
      { _id: record.key._id, version: record.key.version },
      { $unset: { publish_pending: '' } },
    );
  } else {
    await publishStoreAccess(redis, prefix, record.store);
    await record.stores.updateOne(
      { _id: record.store._id, version: record.store.version },
      { $unset: { publish_pending: '' } },
    );
  }
}
