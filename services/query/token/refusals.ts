/** The refusals of the token endpoint: OAuth 2.0 error codes (RFC 6749 section 5.2), and its body of four fields. */
import { REALM, type Refusal, refusal } from '../answers/refusal.ts';

export function invalidForm(detail: string): Refusal {
  return refusal(400, 'invalid_request', detail);
}

/** The same words for an unknown client, a wrong secret and a revoked key. */
export function invalidClient(): Refusal {
  return refusal(401, 'invalid_client', 'client authentication failed', {
    'www-authenticate': `Basic realm="${REALM}"`,
  });
}

export function unauthorizedClient(): Refusal {
  return refusal(400, 'unauthorized_client', 'the key is inactive or its store is blocked');
}

export function unsupportedGrantType(): Refusal {
  return refusal(400, 'unsupported_grant_type', 'grant_type must be client_credentials');
}

export function invalidScope(detail: string): Refusal {
  return refusal(400, 'invalid_scope', detail);
}

/** RFC 8628 section 3.5 has the word. */
export function slowDown(seconds: number): Refusal {
  const words = `too many failed authentications, wait ${seconds} s`;
  const answer = refusal(429, 'slow_down', words, { 'retry-after': String(seconds) });
  return { ...answer, reason: 'too_many_failures' };
}

/** A refusal of any endpoint, as this one answers it. */
export function asTokenRefusal(other: Refusal): Refusal {
  if (other.code === 'environment_unavailable') return { ...other, code: 'temporarily_unavailable' };
  // Whatever is wrong with the body, its size and type included, is a malformed request (rule R4.4).
  if (other.code === 'invalid_request') return { ...other, status: 400 };
  return other;
}

/** The error body of rule R4.3. */
export function tokenErrorBody({ code, detail }: Refusal): Record<string, string> {
  return { error: code, error_description: detail, code, detail };
}
