/** A refusal: an answer other than the one asked for, with its status, code, words and headers (rules R7.1 to R7.4). */
import type { Scope } from '#shared/events/access-event.ts';

/** Name of the protection space in `WWW-Authenticate`. */
export const REALM = 'store-data';

/** Seconds after which a client may try again when a server is away: most outages end within a failover. */
export const RETRY_AFTER_OUTAGE_SECONDS = 2;

/** Why a request was refused, for metrics and logs; the answer never says more than its code. */
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
  /** For people; never holds values of personal data, tokens or secrets. */
  detail: string;
  headers: Record<string, string>;
  /** More exact than the code. */
  reason?: RefusalReason;
  /** Of the key that was refused, where it is one of ours. */
  clientId?: string;
}

/** Carries a refusal to the error handler. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly refusal: Refusal;

  constructor(refusal: Refusal, options?: { cause?: unknown }) {
    super(refusal.code, options);
    this.refusal = refusal;
  }
}

/** Makes one without a reason. */
export function refusal(status: number, code: string, detail: string, headers: Record<string, string> = {}): Refusal {
  return { status, code, detail, headers };
}

/** What HTTP or its framing does not allow; 400 unless a more exact status is given. */
export function invalidRequest(detail: string, status = 400): Refusal {
  return refusal(status, 'invalid_request', detail);
}

/** `detail` is also the `error_description`, so it holds neither quotes nor backslashes. */
export function invalidToken(detail: string): Refusal {
  return refusal(401, 'invalid_token', detail, {
    'www-authenticate': `Bearer realm="${REALM}", error="invalid_token", error_description="${detail}"`,
  });
}

/** Names what is missing; the header holds all that the endpoint requires. */
export function insufficientScope(required: readonly Scope[], missing: readonly Scope[]): Refusal {
  return refusal(403, 'insufficient_scope', `the token lacks the scope ${missing.join(' and ')}`, {
    'www-authenticate': `Bearer realm="${REALM}", error="insufficient_scope", scope="${required.join(' ')}"`,
  });
}

export function notFound(detail: string): Refusal {
  return refusal(404, 'not_found', detail);
}

export function methodNotAllowed(allowed: readonly string[]): Refusal {
  const allow = allowed.join(', ');
  return refusal(405, 'method_not_allowed', `allowed at this path: ${allow}`, { allow });
}

export function invalidParameters(detail: string): Refusal {
  return refusal(422, 'invalid_parameters', detail);
}

export function rateLimitExceeded(resetSeconds: number): Refusal {
  return refusal(429, 'rate_limit_exceeded', `the quota of this store is used up for ${resetSeconds} s`, {
    'retry-after': String(resetSeconds),
  });
}

export function internalError(): Refusal {
  return refusal(500, 'internal_error', 'the request failed on our side');
}

export function environmentUnavailable(): Refusal {
  return refusal(503, 'environment_unavailable', 'the data environment is unavailable, try again later', {
    'retry-after': String(RETRY_AFTER_OUTAGE_SECONDS),
  });
}

/** The same code and headers as of an outage: for a client it is one. */
export function overloaded(): Refusal {
  return { ...environmentUnavailable(), detail: 'more is asked than can be answered now, try again later' };
}

/** A refusal of any endpoint, as the token endpoint answers it. */
export function asTokenRefusal(other: Refusal): Refusal {
  if (other.code === 'environment_unavailable') return { ...other, code: 'temporarily_unavailable' };
  // Whatever is wrong with the body, its size and type included, is a malformed request (rule R4.4).
  if (other.code === 'invalid_request') return { ...other, status: 400 };
  return other;
}

/** The error body of the token endpoint (rule R4.3). */
export function tokenErrorBody({ code, detail }: Pick<Refusal, 'code' | 'detail'>): Record<string, string> {
  return { error: code, error_description: detail, code, detail };
}
