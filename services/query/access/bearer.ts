/** The bearer token of an `Authorization` header (RFC 6750 section 2.1). */

/** The token; `null` when the header is missing or of another kind. */
export function bearerToken(header: string | undefined): string | null {
  return header === undefined ? null : (/^Bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(header)?.[1] ?? null);
}

/** What other APIs expect; only these are repeated, since a secret may stand in a scheme's place. */
const FOREIGN_SCHEME = /^(?:Token|JWT|Api-?Key|Digest|OAuth)(?=\s)/i;

/** What is missing where there is no bearer token, in words that may stand in a header's quoted string. */
export function bearerMissing(header: string | undefined): string {
  if (header === undefined || header.trim() === '') {
    return 'a bearer token is required: Authorization: Bearer <access_token>, from POST /api/auth/token/';
  }
  if (/^Basic\b/i.test(header)) {
    return 'Basic credentials get a token at POST /api/auth/token/; here a bearer token is required: Authorization: Bearer <access_token>';
  }
  if (/^Bearer\b/i.test(header)) return 'what follows Bearer is no token';
  const words = 'Authorization: Bearer <access_token>';
  if (!/^\S+\s+\S/.test(header)) return `the Authorization header has no scheme: ${words}`;
  const [scheme] = FOREIGN_SCHEME.exec(header) ?? [];
  return `the scheme of the Authorization header must be Bearer${scheme === undefined ? '' : `, not ${scheme}`}: ${words}`;
}
