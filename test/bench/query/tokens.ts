/** Keys for stores, and tokens. */
import { newClientId } from '#shared/access/secrets.ts';
import { SCOPES } from '#shared/events/access-event.ts';
import { createApiClient } from '#test/api-client.ts';
import { keyEvent } from '#test/events.ts';
import type { Installation } from '#test/installation.ts';

export interface PublishedKey {
  storeId: string;
  clientId: string;
}

/** Publishes a new key for each store. */
export async function publishKeys(
  { publishAccess }: Installation,
  storeIds: readonly string[],
): Promise<PublishedKey[]> {
  const keys = storeIds.map((storeId) => ({ storeId, clientId: newClientId() }));
  await publishAccess(
    keys.map(({ storeId, clientId }) => ({
      ...keyEvent(clientId, 1, { scopes: SCOPES }),
      storeId,
    })),
  );
  return keys;
}

export function fetchToken(url: string, { clientId }: PublishedKey): Promise<string> {
  return createApiClient(url).token(clientId, 'secret');
}

/** @returns tokens by store. */
export async function fetchTokens(
  url: string,
  keys: readonly PublishedKey[],
): Promise<Map<string, string>> {
  const tokens = new Map<string, string>();
  for (const key of keys) tokens.set(key.storeId, await fetchToken(url, key));
  return tokens;
}
