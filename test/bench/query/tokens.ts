/** Publishes a key for each store, and gets a token for each key. */
import { hashSecret, newClientId, newClientSecret } from '#shared/access/secrets.ts';
import { SCOPES } from '#shared/events/access-event.ts';
import type { Installation } from '#test/installation.ts';

export interface BenchKey {
  storeId: string;
  clientId: string;
  secret: string;
}

export async function publishKeys(
  { publishAccess }: Installation,
  storeIds: readonly string[],
): Promise<BenchKey[]> {
  const keys = storeIds.map((storeId) => ({
    storeId,
    clientId: newClientId(),
    secret: newClientSecret(),
  }));
  await publishAccess(
    keys.map(({ storeId, clientId, secret }) => ({
      entity: 'access_key',
      storeId,
      subject: clientId,
      sequence: 1,
      data: { secret_sha256: hashSecret(secret), scopes: SCOPES, status: 'active' },
    })),
  );
  return keys;
}

export async function fetchTokens(
  url: string,
  keys: readonly BenchKey[],
): Promise<Map<string, string>> {
  const tokens = new Map<string, string>();
  for (const key of keys) tokens.set(key.storeId, await fetchToken(url, key));
  return tokens;
}

export async function fetchToken(url: string, { clientId, secret }: BenchKey): Promise<string> {
  const response = await fetch(`${url}/api/auth/token/`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: 'grant_type=client_credentials',
  });
  const answer = (await response.json()) as { access_token?: string };
  if (answer.access_token === undefined) throw new Error(`no token: ${JSON.stringify(answer)}`);
  return answer.access_token;
}
