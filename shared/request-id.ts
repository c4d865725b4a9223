/** The id of a request in logs: the caller's own if it is harmless, else a new one. */
import { randomUUID } from 'node:crypto';

export const REQUEST_ID_HEADER = 'x-request-id';

const ACCEPTABLE = /^[A-Za-z0-9._-]{1,128}$/;

/** The id of a request whose `X-Request-Id` header is `given` (rule R7.8). */
export function requestIdOf(given: string | string[] | undefined): string {
  return typeof given === 'string' && ACCEPTABLE.test(given) ? given : randomUUID();
}
