/** Authentication of the client at the token endpoint, and whether its key may get tokens. */
import {
  type AccessKey,
  type ControlCollections,
  isBlocked,
  storeAccessId,
  validSecrets,
} from '#shared/access/access-keys.ts';
import type { StoreAccess } from '#shared/access/access-keys.ts';
import { secretMatches } from '#shared/access/secrets.ts';
import type { Bounded } from '../deadline.ts';
import { type Refusal, Refused } from '../answers/refusal.ts';
import { basicCredentials, type Credentials } from './basic.ts';
import type { FailedAuthentications } from './failed-authentications.ts';
import { invalidClient, unauthorizedClient } from './refusals.ts';

/** Where keys are read, and failures counted. */
export interface KeySource {
  control: ControlCollections;
  bounded: Bounded;
  failures: FailedAuthentications;
}

/** Who asks for a token. */
export interface Authenticated {
  key: AccessKey;
  /** What is known of the store's blocking. */
  store: StoreAccess | null;
}

/**
 * The key of the client, and what is known of its store. Whatever is wrong, the work is the same: one look-up, and
 * every reading of the secret compared. The limit of failures is asked twice, each time while MongoDB is: before the
 * secret is compared, so that nobody learns whether it would have been right, and after, so that
 * of many attempts at once none gets past the limit.
 * @throws {Refused} 401 `invalid_client`; 429 `slow_down` after too many failures.
 */
export async function authenticateClient(
  source: KeySource,
  environments: readonly string[],
  { authorization, address }: { authorization: string | undefined; address: string | undefined },
): Promise<Authenticated> {
  const { control, bounded, failures } = source;
  const credentials = basicCredentials(authorization);
  // Nothing was tried.
  if (credentials === null) throw new Refused({ ...invalidClient(), reason: 'credentials_missing' });
  const { asSent, decoded } = credentials;
  // Decoded, since one client_id has many encoded spellings.
  const attempt = failures.attempt(decoded.clientId, address);
  const filter = { _id: { $in: [asSent.clientId, decoded.clientId] } };
  const [keys] = await Promise.all([
    bounded((signal) => control.keys.find(filter, { signal }).toArray()),
    attempt.requireWithin(),
  ]);
  const [first, second] = [asSent, decoded].map((reading) => matchingKey(keys, reading));
  const key = first ?? second ?? null;
  if (key === null || key.status === 'revoked' || !environments.includes(key.environment)) {
    throw new Refused({ ...whyRefused(keys, key), ...(await attempt.failed()) });
  }
  const [store] = await Promise.all([readStore(source, key), attempt.requireWithin()]);
  return { key, store };
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

function readStore({ control, bounded }: KeySource, key: AccessKey): Promise<StoreAccess | null> {
  const filter = { _id: storeAccessId(key.environment, key.store_id) };
  return bounded((signal) => control.stores.findOne(filter, { signal }));
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
