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
import { Refused } from '../answers/refusal.ts';
import { basicCredentials, type Credentials } from './basic.ts';
import { invalidClient, unauthorizedClient } from './refusals.ts';

/** Where keys are read. */
export interface KeySource {
  control: ControlCollections;
  bounded: Bounded;
}

/**
 * The key of the client. Whatever is wrong, the work is the same: one look-up, and every reading of the secret
 * compared.
 * @throws {Refused} 401 `invalid_client`.
 */
export async function authenticateClient(
  { control, bounded }: KeySource,
  environments: readonly string[],
  header: string | undefined,
): Promise<AccessKey> {
  const credentials = basicCredentials(header);
  if (credentials === null) throw new Refused(invalidClient());
  const { asSent, decoded } = credentials;
  const filter = { _id: { $in: [asSent.clientId, decoded.clientId] } };
  const keys = await bounded((signal) => control.keys.find(filter, { signal }).toArray());
  const [first, second] = [asSent, decoded].map((reading) => matchingKey(keys, reading));
  const key = first ?? second ?? null;
  if (key === null || key.status === 'revoked' || !environments.includes(key.environment)) {
    throw new Refused(invalidClient());
  }
  return key;
}

function matchingKey(keys: readonly AccessKey[], { clientId, clientSecret }: Credentials): AccessKey | null {
  const key = keys.find(({ _id }) => _id === clientId);
  const hashes = key === undefined ? [] : validSecrets(key);
  return secretMatches([clientSecret], hashes) && key !== undefined ? key : null;
}

/**
 * What is known of the store's blocking, for a key that may get tokens.
 * @throws {Refused} 400 `unauthorized_client` when the key is inactive or its store blocked.
 */
export async function requireActive(
  { control, bounded }: KeySource,
  key: AccessKey,
): Promise<StoreAccess | null> {
  const filter = { _id: storeAccessId(key.environment, key.store_id) };
  const store = await bounded((signal) => control.stores.findOne(filter, { signal }));
  if (key.status !== 'active' || isBlocked(store)) throw new Refused(unauthorizedClient());
  return store;
}
