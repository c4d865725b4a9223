/** The form of a token request, read strictly. */
import { isUtf8 } from 'node:buffer';
import { REALM, type Refusal, refusal, type RefusalReason, Refused } from '../responses/refusal.ts';
import { type Pair, parseUrlEncoded } from '../parameters/read.ts';
import { type Scope, SCOPES } from '#shared/events/access-event.ts';

/** The only one that is supported. */
export const GRANT_TYPE = 'client_credentials';

const CREDENTIALS: ReadonlySet<string | null> = new Set(['client_id', 'client_secret']);

/**
 * Unknown parameters are ignored, as RFC 6749 section 3.2 asks. An empty one counts as absent; none
 * may come twice.
 */
export function readForm(contentType: string | undefined, body: unknown, query: string) {
  if (contentType?.split(';', 1)[0]?.trim().toLowerCase() !== 'application/x-www-form-urlencoded') {
    refuse('the content type must be application/x-www-form-urlencoded');
  }
  refuseCredentials(parseUrlEncoded(query));
  const form = readFields(body instanceof Buffer ? body : Buffer.alloc(0));
  const grantType = form.get('grant_type');
  if (grantType === undefined) refuse('grant_type is required');
  // Without a scope, all that the key has are asked for.
  return { grantType, scope: form.get('scope') ?? null };
}

function refuse(detail: string): never {
  throw new Refused(invalidForm(detail));
}

function readFields(body: Buffer): Map<string, string> {
  if (!isUtf8(body)) refuse('the body is not UTF-8');
  const fields = new Map<string, string>();
  const pairs = parseUrlEncoded(body.toString('utf8'));
  refuseCredentials(pairs);
  for (const { name, value } of pairs) {
    if (name === null || value === null) refuse('the body is not percent-encoded UTF-8');
    if (value === '') continue;
    if (fields.has(name)) refuse('a parameter is given more than once');
    fields.set(name, value);
  }
  return fields;
}

/** Credentials belong in the Authorization header: bodies and addresses end up in logs. */
function refuseCredentials(pairs: readonly Pair[]): void {
  // Also a value that cannot be decoded.
  const found = pairs.find(({ name, value }) => CREDENTIALS.has(name) && value !== '');
  if (found !== undefined)
    refuse(`${String(found.name)} belongs in the Authorization header, with Basic`);
}

/**
 * The scopes asked for, each once, in the order of `SCOPES`; without a request all held. `null`
 * if one is not held.
 */
export function scopesWithin(requested: string | null, held: readonly Scope[]): Scope[] | null {
  if (requested === null) return SCOPES.filter((scope) => held.includes(scope));
  const asked = requested.split(' ').filter((word) => word !== '');
  if (asked.length === 0 || asked.some((word) => !held.some((scope) => scope === word)))
    return null;
  return SCOPES.filter((scope) => asked.includes(scope));
}

/**
 * The scopes that a token gets.
 * @throws {Refused} 400 `invalid_scope` for one that is unknown or not the key's.
 */
export function grantedScopes(requested: string | null, held: readonly Scope[]): Scope[] {
  const scopes = scopesWithin(requested, held);
  if (scopes !== null) return scopes;
  const own = `scope must name some of the key's own: ${held.join(' ') || 'it has none'}`;
  throw new Refused(
    invalidScope(requested?.includes(',') ? `${own}; spaces separate them, not commas` : own),
  );
}

export const invalidForm = (detail: string) => refusal(400, 'invalid_request', detail);

/** The same words for an unknown client, a wrong secret and a revoked key. */
export const INVALID_CLIENT = refusal(401, 'invalid_client', 'client authentication failed', {
  'www-authenticate': `Basic realm="${REALM}"`,
});

export const UNAUTHORIZED_CLIENT = refusal(
  400,
  'unauthorized_client',
  'the key is inactive or its store is blocked',
);

export const UNSUPPORTED_GRANT_TYPE = refusal(
  400,
  'unsupported_grant_type',
  'grant_type must be client_credentials',
);

export const invalidScope = (detail: string) => refusal(400, 'invalid_scope', detail);

export const tooManyFailures = (milliseconds: number, windowSeconds: number) =>
  slowDown('too many failed authentications', 'too_many_failures', milliseconds, windowSeconds);

/** @param milliseconds until one of the live tokens ends. */
export const tooManyTokens = (milliseconds: number) =>
  slowDown('the key has the maximum number of live tokens', 'too_many_tokens', milliseconds);

/** `slow_down` is from RFC 8628 section 3.5. */
function slowDown(
  what: string,
  reason: RefusalReason,
  milliseconds: number,
  most = Infinity,
): Refusal {
  // Rounded up: a count or a token still holds in the millisecond in which it ends.
  const seconds = Math.min(most, Math.floor(milliseconds / 1_000) + 1);
  const answer = refusal(429, 'slow_down', `${what}, wait ${seconds} s`, {
    'retry-after': String(seconds),
  });
  return { ...answer, reason };
}
