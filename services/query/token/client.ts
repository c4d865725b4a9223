/** Authentication of the client at the token endpoint, and whether its key may get tokens. */
import {
  type AccessKey,
  type ControlCollections,
  isBlocked,
  storeAccessId,
} from '#shared/access/access-keys.ts';
import type { StoreAccess } from '#shared/access/access-keys.ts';
import { secretMatches } from '#shared/access/secrets.ts';
import { Refused } from '../answers/refusal.ts';
import { basicCredentials, type Credentials } from './basic.ts';
import { invalidClient, unauthorizedClient } from './refusals.ts';

/**
 * The key of the client. Whatever is wrong, the work is the same: one look-up, and every reading of the secret
 * compared.
 * @throws {Refused} 401 `invalid_client`.
 */
export async function authenticateClient(
  control: ControlCollections,
  environments: readonly string[],
  header: string | undefined,
): Promise<AccessKey> {
  const credentials = basicCredentials(header);
  if (credentials === null) throw new Refused(invalidClient());
  const { asSent, decoded } = credentials;
  const keys = await control.keys.find({ _id: { $in: [asSent.clientId, decoded.clientId] } }).toArray();
  const [first, second] = [asSent, decoded].map((reading) => matchingKey(keys, reading));
  const key = first ?? second ?? null;
  if (key === null || key.status === 'revoked' || !environments.includes(key.environment)) {
    throw new Refused(invalidClient());
  }
  return key;
}

function matchingKey(keys: readonly AccessKey[], { clientId, clientSecret }: Credentials): AccessKey | null {
  const key = keys.find(({ _id }) => _id === clientId);
  return secretMatches([clientSecret], key?.secret_hashes ?? []) && key !== undefined ? key : null;
}

/**
 * What is known of the store's blocking, for a key that may get tokens.
 * @throws {Refused} 400 `unauthorized_client` when the key is inactive or its store blocked.
 */
export async function requireActive(
  control: ControlCollections,
  key: AccessKey,
): Promise<StoreAccess | null> {
  const store = await control.stores.findOne({ _id: storeAccessId(key.environment, key.store_id) });
  if (key.status !== 'active' || isBlocked(store)) throw new Refused(unauthorizedClient());
  return store;
}
