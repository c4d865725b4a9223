/** Refusals: error responses with status, code, detail and headers (rules R7.1 to R7.4). */
import type { Scope } from '#shared/events/access-event.ts';

/** Name of the protection space in `WWW-Authenticate`. */
export const REALM = 'store-data';

/**
 * Seconds after which a client may try again when a server is away: most outages end within a
 * failover.
 */
export const RETRY_AFTER_OUTAGE_SECONDS = 2;

/** Why a request was refused, for metrics and logs. The answer says only its code. */
export type RefusalReason =
  | 'token_missing'
  | 'token_invalid'
  | 'environment_not_served'
  | 'session_ended'
  | 'key_not_active'
  | 'store_blocked'
  | 'quota_exceeded'
  | 'scope_missing'
  | 'credentials_missing'
  | 'client_unknown'
  | 'secret_wrong'
  | 'key_revoked'
  | 'too_many_failures'
  | 'too_many_tokens';

export interface Refusal {
  status: number;
  code: string;
  /** For people. Never holds personal data, tokens or secrets. */
  detail: string;
  headers: Record<string, string>;
  /** More exact than the code. */
  reason?: RefusalReason;
  /** Of a known key. */
  clientId?: string | null;
}

export class Refused extends Error {
  override readonly name = 'Refused';
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.code);
    this.refusal = refusal;
  }
}

export function refusal(
  status: number,
  code: string,
  detail: string,
  headers: Record<string, string> = {},
): Refusal {
  return { status, code, detail, headers };
}

/** For a violation of HTTP; 400 unless a more exact status is given. */
export const invalidRequest = (detail: string, status = 400) =>
  refusal(status, 'invalid_request', detail);

/** `detail` is also the `error_description`, so it holds neither quotes nor backslashes. */
export const invalidToken = (detail: string) =>
  refusal(401, 'invalid_token', detail, {
    'www-authenticate': `Bearer realm="${REALM}", error="invalid_token", error_description="${detail}"`,
  });

/** The detail names the missing scopes, the header all that the endpoint requires. */
export const insufficientScope = (required: readonly Scope[], missing: readonly Scope[]) =>
  refusal(403, 'insufficient_scope', `the token lacks the scope ${missing.join(' and ')}`, {
    'www-authenticate': `Bearer realm="${REALM}", error="insufficient_scope", scope="${required.join(' ')}"`,
  });

export const notFound = (detail: string) => refusal(404, 'not_found', detail);

export function methodNotAllowed(allowed: readonly string[]): Refusal {
  const allow = allowed.join(', ');
  return refusal(405, 'method_not_allowed', `allowed at this path: ${allow}`, { allow });
}

export const invalidParameters = (detail: string) => refusal(422, 'invalid_parameters', detail);

export const rateLimitExceeded = (resetSeconds: number) =>
  refusal(429, 'rate_limit_exceeded', `the quota of this store is used up for ${resetSeconds} s`, {
    'retry-after': String(resetSeconds),
  });

export const INTERNAL_ERROR = refusal(500, 'internal_error', 'the request failed on our side');

export const ENVIRONMENT_UNAVAILABLE = refusal(
  503,
  'environment_unavailable',
  'the data environment is unavailable, try again later',
  { 'retry-after': String(RETRY_AFTER_OUTAGE_SECONDS) },
);

/** The same code and headers as for an outage. */
export const OVERLOADED: Refusal = {
  ...ENVIRONMENT_UNAVAILABLE,
  detail: 'there are more requests than can be answered now, try again later',
};

/** A refusal of any endpoint, as the token endpoint answers it. */
export function asTokenRefusal(other: Refusal): Refusal {
  if (other.code === 'environment_unavailable')
    return { ...other, code: 'temporarily_unavailable' };
  // Any mistake of the body, of its size and type too, is a malformed request (rule R4.4).
  if (other.code === 'invalid_request') return { ...other, status: 400 };
  return other;
}

/** The error body: two fields, at the token endpoint four (rule R4.3). */
export function errorBody({ code, detail }: Pick<Refusal, 'code' | 'detail'>, toToken: boolean) {
  return toToken ? { error: code, error_description: detail, code, detail } : { code, detail };
}
