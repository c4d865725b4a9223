/** The requests that a newcomer copies from the screen into a shell; they need nothing but curl and sed. */
import type { IssuedKey } from './stack-file.ts';

/** One for each group of endpoints, short enough for a line of the screen. */
const PATHS = [
  '/api/store/info/',
  '/api/review/list?page_size=2',
  '/api/order/list?page_size=3',
  '/api/menu/',
] as const;

/** A token, and with it one request for each group of endpoints: each is a line of its own. */
export function firstRequests(queryUrl: string, key: IssuedKey): { token: string[]; groups: string[] } {
  return {
    token: [
      `TOKEN=$(curl -s -u ${key.client_id}:${key.client_secret} \\`,
      `  -d grant_type=client_credentials ${queryUrl}/api/auth/token/ \\`,
      `  | sed -E 's/.*"access_token":"([^"]+)".*/\\1/'); echo "$TOKEN"`,
    ],
    groups: PATHS.map((path) => `curl -sw '\\n' -H "Authorization: Bearer $TOKEN" '${queryUrl}${path}'`),
  };
}
