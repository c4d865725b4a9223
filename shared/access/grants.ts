/**
 * Grants: what a key may do now, and whether its store is blocked, live in Redis. Beside the grant lies the client's
 * record, by which the token endpoint finds the key: where it belongs, and the hashes of its secrets.
 *
 * Each is a sorted set that holds one member, scored by its version. Writing adds the member and drops all but
 * the highest score: a write that comes late with an older version removes itself.
 */
import type { ChainableCommander } from 'ioredis';
import type { Collection, Filter, UpdateFilter } from 'mongodb';
import type { KeyStatus, Scope } from '../events/access-event.ts';
import { SCOPES } from '../events/access-event.ts';
import type { RedisHolders } from '../redis-masters.ts';
import { pipelined } from '../redis-pipeline.ts';
import type { AccessKey, StoreAccess } from './access-keys.ts';
import { clientKey, redisKeys } from './redis-keys.ts';
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

/**
 * A client's record as the member of its sorted set: `s1 production <hash> <hash>:<end>`, the end of a secret in
 * milliseconds since 1970 where it has one.
 */
export function encodeClient({
  store_id: storeId,
  environment,
  secret_hashes: hashes,
  secret_expires_at: ends = {},
}: GrantedKey): string {
  const secrets = hashes.map((hash) => {
    const end = ends[hash];
    return end === undefined ? hash : `${hash}:${Date.parse(end)}`;
  });
  return [storeId, environment, ...secrets].join(' ');
}

/** The grant of a member; `null` where there is none. */
export function decodeGrant(member: string | undefined): Grant | null {
  if (member === undefined) return null;
  const [status, ...scopes] = member.split(' ');
  if (status !== 'active' && status !== 'inactive' && status !== 'revoked') return null;
  return { status, scopes: SCOPES.filter((scope) => scopes.includes(scope)) };
}

/**
 * Adds the writing of a version to a MULTI, or to a pipeline: whoever reads takes the highest version, which no order of
 * these commands makes lower, however many writers are late (decision 0041). `GT` is for a member that is there with a newer
 * version already: its words came back.
 */
export function setVersioned(
  multi: ChainableCommander,
  key: string,
  version: number,
  member: string,
): ChainableCommander {
  return multi.zadd(key, 'GT', version, member).zremrangebyrank(key, 0, -2);
}

/**
 * Adds the writing of a version to a MULTI where Redis has that version with other words, which nobody of ours wrote: of two
 * members with one version the wrong one could win. What is newer by now stays.
 */
export function replaceVersioned(
  multi: ChainableCommander,
  key: string,
  version: number,
  member: string,
): ChainableCommander {
  return setVersioned(multi.zremrangebyscore(key, version, version), key, version, member);
}

export interface Published {
  redisKey: string;
  version: number;
  member: string;
  /** Whether it is a client's record. */
  isClient?: true;
}

/** Above every version: nothing that is written later, by whomever, lets a revoked key in again. */
const FINAL_VERSION = Number.MAX_SAFE_INTEGER;

/** What of a key Redis is to hold. */
export type GrantedKey = Pick<
  AccessKey,
  '_id' | 'environment' | 'store_id' | 'status' | 'scopes' | 'secret_hashes' | 'secret_expires_at' | 'version'
>;

/**
 * A key as Redis is to hold it. The client's record counts only with the version of the grant. It is written first: whoever
 * sees a newer grant beside it knows that a release wrote that which has no such records, or that it was lost.
 */
export function publishedKey(prefix: string, key: GrantedKey): [client: Published, grant: Published] {
  const version = key.status === 'revoked' ? FINAL_VERSION : key.version;
  const { grant } = redisKeys(prefix, key.environment, key.store_id);
  return [
    { redisKey: clientKey(prefix, key._id), version, member: encodeClient(key), isClient: true },
    { redisKey: grant(key._id), version, member: encodeGrant(key) },
  ];
}

/** A store's blocking as Redis is to hold it. */
export function publishedBlocking(prefix: string, store: StoreAccess): Published {
  return publishedState(prefix, store.environment, store.store_id, store);
}

/**
 * The same of a store about which nothing may have been said yet: that is noted as active with version 0, which every
 * real version overtakes.
 */
export function publishedState(
  prefix: string,
  environment: string,
  storeId: string,
  store: StoreAccess | null,
): Published {
  return {
    redisKey: redisKeys(prefix, environment, storeId).storeAccess,
    version: store?.version ?? 0,
    member: encodeStoreState(storeStateOf(store)),
  };
}

/** Publishes several records. */
export async function publishAll(holders: RedisHolders, records: readonly Published[]): Promise<void> {
  await pipelined(
    holders,
    records,
    ({ redisKey }) => redisKey,
    (commands, { redisKey, version, member }) => setVersioned(commands, redisKey, version, member),
  );
}

/** Publishes a record and, where no newer version came meanwhile, notes in MongoDB that Redis has it. */
export async function publishAccess(
  redis: RedisHolders,
  prefix: string,
  record:
    { key: AccessKey; keys: Collection<AccessKey> } | { store: StoreAccess; stores: Collection<StoreAccess> },
): Promise<void> {
  if ('key' in record) {
    await publishAll(redis, publishedKey(prefix, record.key));
    await notePublished<AccessKey>(record.keys, record.key);
  } else {
    await publishAll(redis, [publishedBlocking(prefix, record.store)]);
    await notePublished<StoreAccess>(record.stores, record.store);
  }
}

async function notePublished<R extends AccessKey | StoreAccess>(
  collection: Collection<R>,
  { _id, version }: R,
): Promise<void> {
  const published = { $unset: { publish_pending: '' } } as unknown as UpdateFilter<R>;
  await collection.updateOne({ _id, version } as Filter<R>, published);
}
