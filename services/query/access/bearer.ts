/** The bearer token of an `Authorization` header (RFC 6750 section 2.1). */

/** The token; `null` when the header is missing or of another kind. */
export function bearerToken(header: string | undefined): string | null {
  return header === undefined ? null : (/^Bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(header)?.[1] ?? null);
}
