/** Authentication of the client at the token endpoint, and whether its key may get tokens. */
import {
  type AccessKey,
  type ControlCollections,
  isBlocked,
  storeAccessId,
  validSecrets,
} from '#shared/access/access-keys.ts';
import type { StoreAccess } from '#shared/access/access-keys.ts';
import { LRUCache } from 'lru-cache';
import { secretMatches } from '#shared/access/secrets.ts';
import type { Bounded } from '../deadline.ts';
import { type Refusal, Refused } from '../answers/refusal.ts';
import { basicCredentials, type Credentials } from './basic.ts';
import { batchedLookUp, type LookUp } from './batched-look-up.ts';
import type { FailedAuthentications } from './failed-authentications.ts';
import { invalidClient, unauthorizedClient } from './refusals.ts';

/** How keys and stores are read. */
export interface KeyLookUps {
  key: LookUp<AccessKey>;
  store: LookUp<StoreAccess>;
  /** Where the store of a key is, which never changes: so both are read at once. What is read decides. */
  storeIdOf: LRUCache<string, string>;
}

/** Where keys are read, and failures counted. */
export interface KeySource {
  lookUps: KeyLookUps;
  bounded: Bounded;
  failures: FailedAuthentications;
}

const REMEMBERED_KEYS = 20_000;

/** Makes the look-ups that all requests share. */
export function createKeyLookUps({ keys, stores }: ControlCollections, bounded: Bounded): KeyLookUps {
  return {
    key: batchedLookUp(keys, bounded),
    store: batchedLookUp(stores, bounded),
    storeIdOf: new LRUCache({ max: REMEMBERED_KEYS }),
  };
}

/** Who asks for a token. */
export interface Authenticated {
  key: AccessKey;
  /** What is known of the store's blocking. */
  store: StoreAccess | null;
  /** Rejects with 429 where the limit of failures was reached meanwhile. Nothing may be answered before it has ended. */
  within: Promise<void>;
}

/**
 * The key of the client, and what is known of its store. Whatever is wrong, the work is the same: one look-up of a key
 * and one of a store, and every reading of the secret compared. The limit of failures is asked twice, each time while MongoDB is: before the
 * secret is compared, so that nobody learns whether it would have been right, and after, so that
 * of many attempts at once none gets past the limit.
 * @throws {Refused} 401 `invalid_client`; 429 `slow_down` after too many failures.
 */
export async function authenticateClient(
  source: KeySource,
  environments: readonly string[],
  { authorization, address }: { authorization: string | undefined; address: string | undefined },
): Promise<Authenticated> {
  const { lookUps, bounded, failures } = source;
  const credentials = basicCredentials(authorization);
  // Nothing was tried.
  if (credentials === null) throw new Refused({ ...invalidClient(), reason: 'credentials_missing' });
  const { asSent, decoded } = credentials;
  // Decoded, since one client_id has many encoded spellings.
  const attempt = failures.attempt(decoded.clientId, address);
  const readings = isSame(asSent, decoded) ? [asSent] : [asSent, decoded];
  // A client that is not known has a store that is not there.
  const storeId = lookUps.storeIdOf.get(decoded.clientId) ?? decoded.clientId;
  const reading = bounded(() =>
    Promise.all([lookUps.store(storeId), ...readings.map(({ clientId }) => lookUps.key(clientId))]),
  );
  const [[store, ...found]] = await Promise.all([reading, attempt.requireWithin()]);
  const keys = found.filter((key) => key !== null);
  const key = readings.map((each) => matchingKey(keys, each)).find((match) => match !== null) ?? null;
  if (key === null || key.status === 'revoked' || !environments.includes(key.environment)) {
    throw new Refused({ ...whyRefused(keys, key), ...(await attempt.failed()) });
  }
  const known = storeAccessId(key.environment, key.store_id);
  const within = attempt.requireWithin();
  // It is awaited before any answer; until then it may fail unheard.
  within.catch(() => undefined);
  const storeOfKey = known === storeId ? store : await bounded(() => lookUps.store(known));
  lookUps.storeIdOf.set(decoded.clientId, known);
  return { key, store: storeOfKey, within };
}

function isSame(one: Credentials, other: Credentials): boolean {
  return one.clientId === other.clientId && one.clientSecret === other.clientSecret;
}

/** For operators only. A client_id that is none of ours is not told even them: it may be a secret in the wrong place. */
function whyRefused(keys: readonly AccessKey[], key: AccessKey | null): Pick<Refusal, 'reason' | 'clientId'> {
  const [tried] = keys;
  if (tried === undefined) return { reason: 'client_unknown' };
  const { _id: clientId } = key ?? tried;
  if (key === null) return { reason: 'secret_wrong', clientId };
  return { reason: key.status === 'revoked' ? 'key_revoked' : 'environment_not_served', clientId };
}

function matchingKey(keys: readonly AccessKey[], { clientId, clientSecret }: Credentials): AccessKey | null {
  const key = keys.find(({ _id }) => _id === clientId);
  const hashes = key === undefined ? [] : validSecrets(key);
  return secretMatches([clientSecret], hashes) && key !== undefined ? key : null;
}

/**
 * Stops a key that may get no tokens.
 * @throws {Refused} 400 `unauthorized_client` when the key is inactive or its store blocked.
 */
export function requireActive({ key, store }: Authenticated): void {
  const reason = key.status === 'active' ? 'store_blocked' : 'key_not_active';
  if (key.status !== 'active' || isBlocked(store)) {
    throw new Refused({ ...unauthorizedClient(), reason, clientId: key._id });
  }
}
