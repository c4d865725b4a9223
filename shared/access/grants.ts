/**
 * Access in Redis: a key's rights (grant), a store's state, and a session for each issued token. Grants and states are sorted sets of one
 * member, scored by its version: a late write with an older version removes itself.
 */
import type { ChainableCommander } from 'ioredis';
import { type KeyStatus, type OwnQuota, type Scope, SCOPES } from '../events/access-event.ts';
import { type RedisMaster, pipelined, type RedisRouter } from '../redis-masters.ts';
import {
  type AccessKey,
  type AccessRecord,
  collectionOf,
  type ControlCollections,
  isBlocked,
  type RevokedSession,
  type StoreAccess,
} from './access-keys.ts';
import { randomBytes } from 'node:crypto';
import type { Collection } from 'mongodb';

export interface Grant {
  status: KeyStatus;
  /** In the order of `SCOPES`. */
  scopes: Scope[];
}

/** A grant as the member of its sorted set: `active store crm`. */
export function encodeGrant(grant: Grant): string {
  return [grant.status, ...grant.scopes].join(' ');
}

export function decodeGrant(member: string | undefined): Grant | null {
  if (member === undefined) return null;
  const [status, ...scopes] = member.split(' ');
  if (status !== 'active' && status !== 'inactive' && status !== 'revoked') return null;
  return { status, scopes: SCOPES.filter((scope) => scopes.includes(scope)) };
}

/** `GT` protects a member that came back with a newer version. Readers take the highest (decision 0041). */
export function setVersioned(multi: ChainableCommander, { redisKey, version, member }: Published): ChainableCommander {
  return multi.zadd(redisKey, 'GT', version, member).zremrangebyrank(redisKey, 0, -2);
}

/** For a member that none of our processes wrote: with two members of one version the wrong one could win. A newer version stays. */
export function replaceVersioned(multi: ChainableCommander, published: Published): ChainableCommander {
  const { redisKey, version } = published;
  return setVersioned(multi.zremrangebyscore(redisKey, version, version), published);
}

export interface Published {
  redisKey: string;
  version: number;
  member: string;
}

/** Above every version: no later write can give a revoked key its rights back. */
const FINAL_VERSION = Number.MAX_SAFE_INTEGER;

export type GrantedKey = Pick<AccessKey, '_id' | 'environment' | 'store_id' | 'status' | 'scopes' | 'version'>;

export function publishedKey(prefix: string, key: GrantedKey): Published {
  const version = key.status === 'revoked' ? FINAL_VERSION : key.version;
  const { grant } = redisKeys(prefix, key.environment, key.store_id);
  return { redisKey: grant(key._id), version, member: encodeGrant(key) };
}

export function publishedRecord(prefix: string, record: AccessRecord): Published {
  if ('secret_hashes' in record) return publishedKey(prefix, record);
  return publishedState(prefix, record.environment, record.store_id, record);
}

/** A store's state. Without a record it is active, with version 0, which every real version replaces. */
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

export async function publishAll(holders: RedisRouter, records: readonly Published[]): Promise<void> {
  await pipelined(holders, records, ({ redisKey }) => redisKey, setVersioned);
}

/** Publishes a record, and removes its mark in MongoDB unless a newer version came meanwhile. */
export async function publishAccess(
  redis: RedisRouter,
  prefix: string,
  collections: Pick<ControlCollections, 'keys' | 'stores'>,
  record: AccessRecord,
): Promise<void> {
  await publishAll(redis, [publishedRecord(prefix, record)]);
  const { _id, version } = record;
  await collectionOf(collections, record).updateOne({ _id, version }, { $unset: { publish_pending: '' } });
}

export function redisKeys(prefix: string, environment: string, storeId: string) {
  const tag = `${prefix}:{${storeId}:${environment}}`;
  return {
    session: (sessionId: string) => `${tag}:session:${sessionId}`,
    /** The sessions of a key that are live, scored by when they end, in milliseconds since 1970. */
    tokens: (clientId: string) => `${tag}:tokens:${clientId}`,
    grant: (clientId: string) => `${tag}:grant:${clientId}`,
    /** The keys of the store, scored by when each last obtained a token, in milliseconds since 1970. */
    lastTokens: `${tag}:last-tokens`,
    storeAccess: `${tag}:store-access`,
    /** The count of a window, by its length; with `''` the beginning of such names. */
    quota: (windowSeconds: number | '') => `${tag}:quota:${windowSeconds}`,
  };
}

export function heartbeatKey(prefix: string, instance: string): string {
  return `${prefix}:trail:${instance}`;
}

export interface StoreState {
  blocked: boolean;
  /** `null` if the configured quota holds. */
  quota: OwnQuota;
}

export function storeStateOf(store: StoreAccess | null): StoreState {
  return { blocked: isBlocked(store), quota: store?.quota ?? null };
}

export function encodeStoreState({ blocked, quota }: StoreState): string {
  const { requests, window_seconds } = quota ?? {};
  return [blocked ? 'blocked' : 'active', requests, window_seconds].filter((word) => word !== undefined).join(' ');
}

const MEMBER = /^(?<status>active|blocked)(?: (?<requests>\d{1,15})(?: (?<window>\d{1,15}))?)?$/;

export function decodeStoreState(member: string | undefined): StoreState | null {
  const groups = member === undefined ? undefined : MEMBER.exec(member)?.groups;
  if (groups === undefined) return null;
  const { status, requests, window } = groups;
  const ownWindow = window === undefined ? {} : { window_seconds: Number(window) };
  return {
    blocked: status === 'blocked',
    quota: requests === undefined ? null : { requests: Number(requests), ...ownWindow },
  };
}

export function newSessionId(): string {
  return randomBytes(16).toString('hex');
}

/** Once noted, the revocation reaches Redis even if this process is killed. @returns whether it was noted before. */
export async function noteRevocation(
  revoked: Collection<RevokedSession>,
  { _id, ...owner }: RevokedSessionId,
  expires_at: Date,
): Promise<boolean> {
  const noted = { ...owner, revoked_at: new Date(), expires_at, publish_pending: true } as const;
  const { matchedCount } = await revoked.updateOne({ _id }, { $set: noted }, { upsert: true });
  return matchedCount > 0;
}

export type RevokedSessionId = Pick<RevokedSession, '_id' | 'environment' | 'store_id' | 'client_id'>;

function sessionKey(prefix: string, { _id, environment, store_id }: RevokedSessionId): string {
  return redisKeys(prefix, environment, store_id).session(_id);
}

/** Ends sessions in Redis, which frees their places among the key's tokens. @returns how many were live. */
async function endSessions(redis: RedisRouter, prefix: string, sessions: readonly RevokedSessionId[]): Promise<number> {
  const sessionOf = (session: RevokedSessionId) => sessionKey(prefix, session);
  const tokensOf = ({ environment, store_id, client_id }: RevokedSessionId) =>
    redisKeys(prefix, environment, store_id).tokens(client_id);
  const removed = await pipelined(redis, sessions, sessionOf, (commands, session) => commands.del(sessionOf(session)));
  await pipelined(redis, sessions, tokensOf, (commands, session) => commands.zrem(tokensOf(session), session._id));
  return removed.filter((count) => count === 1).length;
}

export function endOwnSessions(
  master: RedisMaster,
  prefix: string,
  sessions: readonly RevokedSessionId[],
): Promise<number> {
  const own = sessions.filter((session) => master.owns(sessionKey(prefix, session)));
  return endSessions(master, prefix, own);
}

/** Ends a session in Redis after its revocation was noted, for every instance. @returns whether it was live. */
export async function endRevokedSession(
  redis: RedisRouter,
  revoked: Collection<RevokedSession>,
  prefix: string,
  session: RevokedSessionId,
): Promise<boolean> {
  const ended = await endSessions(redis, prefix, [session]);
  await revoked.updateOne({ _id: session._id }, { $unset: { publish_pending: '' } });
  return ended === 1;
}
