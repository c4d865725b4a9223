/** The bearer token of an `Authorization` header (RFC 6750 section 2.1). */

/** The token; `null` when the header is missing or of another kind. */
export function bearerToken(header: string | undefined): string | null {
  return header === undefined ? null : (/^Bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(header)?.[1] ?? null);
}

/** What is missing where there is no bearer token, in words that may stand in a header's quoted string. */
export function bearerMissing(header: string | undefined): string {
  if (header === undefined || header.trim() === '') {
    return 'a bearer token is required: Authorization: Bearer <access_token>, from POST /api/auth/token/';
  }
  if (/^Basic\b/i.test(header)) {
    return 'Basic credentials get a token at POST /api/auth/token/; here a bearer token is required: Authorization: Bearer <access_token>';
  }
  if (/^Bearer\b/i.test(header)) return 'what follows Bearer is no token';
  return 'the scheme of the Authorization header must be Bearer: Authorization: Bearer <access_token>';
}
