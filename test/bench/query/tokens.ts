/** A key and a token for each store of a benchmark. */
import { SCOPES } from '#shared/events/access-event.ts';
import { createApiClient } from '#test/api-client.ts';
import { keyEvent } from '#test/events.ts';
import type { Installation } from '#test/installation.ts';

export const clientOf = (storeId: string): string => `key-of-${storeId}`;

export function publishKeys(
  { publishAccess }: Installation,
  storeIds: readonly string[],
): Promise<void> {
  return publishAccess(
    storeIds.map((storeId) => ({
      ...keyEvent(clientOf(storeId), 1, { scopes: SCOPES }),
      storeId,
    })),
  );
}

export function fetchToken(url: string, storeId: string): Promise<string> {
  return createApiClient(url).token(clientOf(storeId), 'secret');
}

/** @returns tokens by store. */
export async function fetchTokens(
  url: string,
  storeIds: readonly string[],
): Promise<Map<string, string>> {
  const tokens = new Map<string, string>();
  for (const storeId of storeIds) tokens.set(storeId, await fetchToken(url, storeId));
  return tokens;
}
