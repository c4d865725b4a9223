/** Keys for stores, and tokens. */
import { newClientId } from '#shared/access/secrets.ts';
import { SCOPES } from '#shared/events/access-event.ts';
import { createApiClient } from './api-client.ts';
import { keyEvent } from './events.ts';
import { eventually } from './eventually.ts';
import type { Installation } from './installation.ts';

export interface PublishedKey {
  storeId: string;
  clientId: string;
}

/** Publishes a new key with all scopes for each store. */
export async function publishKeys(
  { publishAccess }: Installation,
  storeIds: readonly string[],
  environment?: string,
): Promise<PublishedKey[]> {
  const keys = storeIds.map((storeId) => ({ storeId, clientId: newClientId() }));
  const events = keys.map(({ storeId, clientId }) => ({
    ...keyEvent(clientId, 1, { scopes: SCOPES }),
    storeId,
  }));
  await publishAccess(events, environment);
  return keys;
}

export function fetchToken(url: string, { clientId }: PublishedKey): Promise<string> {
  return createApiClient(url).token(clientId, 'secret');
}

/** @returns tokens by store, once their keys are active. */
export async function fetchTokens(
  url: string,
  keys: readonly PublishedKey[],
): Promise<Map<string, string>> {
  const { askToken } = createApiClient(url);
  const tokens = new Map<string, string>();
  for (const key of keys) {
    const isActive = async () => (await askToken(key.clientId, 'secret')).status === 200;
    await eventually(`the key of ${key.storeId} is active`, isActive);
    tokens.set(key.storeId, await fetchToken(url, key));
  }
  return tokens;
}
