/** The requests that a newcomer copies from the screen into a shell; they need nothing but curl and sed. */
import type { IssuedKey } from './stack-file.ts';

/** Two requests: a token, and with it the newest orders. */
export function firstRequests(queryUrl: string, key: IssuedKey): { token: string[]; orders: string[] } {
  return {
    token: [
      `TOKEN=$(curl -s -u ${key.client_id}:${key.client_secret} \\`,
      `  -d grant_type=client_credentials ${queryUrl}/api/auth/token/ \\`,
      `  | sed -E 's/.*"access_token":"([^"]+)".*/\\1/'); echo "$TOKEN"`,
    ],
    orders: [`curl -s -w '\\n' -H "Authorization: Bearer $TOKEN" '${queryUrl}/api/order/list?page_size=3'`],
  };
}
