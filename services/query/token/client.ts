/** Authentication of the client at the token endpoint, and whether its key may get tokens. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AccessKey,
  type ControlCollections,
  storeAccessId,
  validSecrets,
} from '#shared/access/access-keys.ts';
import type { StoreAccess } from '#shared/access/access-keys.ts';
import { secretMatches } from '#shared/access/secrets.ts';
import type { Bounded } from '../deadline.ts';
import { type Refusal, Refused } from '../answers/refusal.ts';
import { basicCredentials, type Credentials } from './basic.ts';
import { batchedLookUp, type LookUp } from './batched-look-up.ts';
import type { Attempt, FailedAuthentications } from './failed-authentications.ts';
import type { KnownClient, KnownClients } from './known-clients.ts';
import { invalidClient, unauthorizedClient } from './refusals.ts';

/** How keys and stores are read. */
export interface KeyLookUps {
  key: LookUp<AccessKey>;
  store: LookUp<StoreAccess>;
}

/** Where clients are known, and keys are read. */
export interface KeySource {
  lookUps: KeyLookUps;
  bounded: Bounded;
  clients: KnownClients;
}

/** Makes the look-ups that all requests share. */
export function createKeyLookUps({ keys, stores }: ControlCollections, bounded: Bounded): KeyLookUps {
  return { key: batchedLookUp(keys, bounded), store: batchedLookUp(stores, bounded) };
}

/** What a client says it is, and how often it was wrong. */
export interface Claim {
  attempt: Attempt;
  /** The credentials in every way they can be read, the best known one first. */
  readings: readonly Credentials[];
  /** Decoded, since one `client_id` has many encoded spellings. */
  clientId: string;
}

/**
 * Reads who asks.
 * @throws {Refused} 401 `invalid_client` where nobody says so; 429 `slow_down` where they are known to be refused.
 */
export function readClaim(
  failures: FailedAuthentications,
  authorization: string | undefined,
  address: string | undefined,
): Claim {
  const credentials = basicCredentials(authorization);
  // Nothing was tried.
  if (credentials === null) throw new Refused({ ...invalidClient(), reason: 'credentials_missing' });
  const { asSent, decoded } = credentials;
  const attempt = failures.attempt(decoded.clientId, address);
  attempt.requireUnrefused();
  const readings = isSame(asSent, decoded) ? [asSent] : [asSent, decoded];
  return { attempt, readings, clientId: decoded.clientId };
}

/** The client among those known whose secret it is. A copy: it may be out of date. */
export function recognise(clients: KnownClients, { readings }: Claim): KnownClient | null {
  let recognised: KnownClient | null = null;
  for (const reading of readings) {
    const known = clients.get(reading.clientId);
    if (matches(known?.key, reading)) recognised ??= known ?? null;
  }
  return recognised;
}

/** Who asks for a token. */
export interface Authenticated {
  client: KnownClient;
  /** Rejects with 429 where the limit of failures was reached meanwhile. Nothing may be answered before it has ended. */
  within: Promise<void>;
}

/**
 * No failed authentication is told earlier than this. What its work took, a little more for a client that exists, is
 * over by then: the time of the answer does not depend on it.
 */
const FAILURE_MS = 10;

/**
 * The client as MongoDB knows it. Whatever is wrong, the work is the same: one look-up of a key and one of a store, and
 * every reading of the secret compared. The limit of failures is asked twice, each time while MongoDB is: before the
 * secret is compared, so that nobody learns whether it would have been right, and after, so that of many attempts at
 * once none gets past the limit.
 * @throws {Refused} 401 `invalid_client`; 429 `slow_down` after too many failures.
 */
export async function authenticateClient(
  { lookUps, bounded, clients }: KeySource,
  environments: readonly string[],
  { attempt, readings, clientId }: Claim,
): Promise<Authenticated> {
  const earliestFailure = sleep(FAILURE_MS);
  // The store of a key never changes: so both are read at once. A client that is not known has a store that is not there.
  const storeId = clients.get(clientId)?.storeId ?? clientId;
  const reading = bounded((signal) =>
    Promise.all([
      lookUps.store(storeId, signal),
      ...readings.map((each) => lookUps.key(each.clientId, signal)),
    ]),
  );
  const [[store, ...found]] = await Promise.all([reading, attempt.requireWithin()]);
  const keys = found.filter((key) => key !== null);
  const key = readings.map((each) => matchingKey(keys, each)).find((match) => match !== null) ?? null;
  if (key === null || key.status === 'revoked' || !environments.includes(key.environment)) {
    const [failed] = await Promise.all([attempt.failed(), earliestFailure]);
    throw new Refused({ ...whyRefused(keys, key), ...failed });
  }
  const storeIdOfKey = storeAccessId(key.environment, key.store_id);
  const within = attempt.requireWithin();
  // It is awaited before any answer; until then it may fail unheard.
  within.catch(() => undefined);
  const storeOfKey =
    storeIdOfKey === storeId ? store : await bounded((signal) => lookUps.store(storeIdOfKey, signal));
  return { client: clients.learn(key, storeOfKey), within };
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

function matchingKey(keys: readonly AccessKey[], reading: Credentials): AccessKey | null {
  const key = keys.find(({ _id }) => _id === reading.clientId);
  return matches(key, reading) && key !== undefined ? key : null;
}

/** As much work without a key as with one. */
function matches(key: AccessKey | undefined, { clientSecret }: Credentials): boolean {
  return secretMatches([clientSecret], key === undefined ? [] : validSecrets(key));
}

/** Whether a client may get tokens: its key is active, and its store not blocked. */
export function isActive({ key, blocked }: KnownClient): boolean {
  return key.status === 'active' && !blocked;
}

/**
 * Stops a key that may get no tokens.
 * @throws {Refused} 400 `unauthorized_client` when the key is inactive or its store blocked.
 */
export function requireActive(client: KnownClient): void {
  if (isActive(client)) return;
  const { key } = client;
  const reason = key.status === 'active' ? 'store_blocked' : 'key_not_active';
  throw new Refused({ ...unauthorizedClient(), reason, clientId: key._id });
}
