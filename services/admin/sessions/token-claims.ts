/** What a token says of itself, for its revocation: whose signature it has does not matter for that. */
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { CLIENT_ID_PATTERN } from '#shared/events/access-event.ts';
import { isId } from '#shared/events/fields.ts';

export interface SessionOfToken {
  id: string;
  environment: string;
  storeId: string;
  clientId: string;
  expiresAt: Date;
}

/** The shape of a session's id. */
export const SESSION_ID_PATTERN = /^[0-9a-f]{32}$/;

/** The session of a token; `null` when it is no access token of ours. */
export function sessionOfToken(token: string): SessionOfToken | null {
  try {
    if (decodeProtectedHeader(token).typ !== 'at+jwt') return null;
    const { jti, exp, client_id: clientId, store_id: storeId, environment } = decodeJwt(token);
    if (typeof jti !== 'string' || !SESSION_ID_PATTERN.test(jti)) return null;
    if (typeof exp !== 'number' || typeof environment !== 'string') return null;
    if (typeof clientId !== 'string' || !CLIENT_ID_PATTERN.test(clientId)) return null;
    if (typeof storeId !== 'string' || !isId(storeId)) return null;
    return { id: jti, environment, storeId, clientId, expiresAt: new Date(exp * 1_000) };
  } catch {
    // The cause would quote the token.
    return null;
  }
}
