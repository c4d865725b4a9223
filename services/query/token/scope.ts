/** Which scopes a token gets (rules R3.3, R4.2). */
import { type Scope, SCOPES } from '#shared/events/access-event.ts';
import { Refused } from '../answers/refusal.ts';
import { invalidScope } from './refusals.ts';

/** The scopes asked for, each once, in the order of `SCOPES`; without a request all held. `null` where one is not held. */
export function scopesWithin(requested: string | null, held: readonly Scope[]): Scope[] | null {
  if (requested === null) return SCOPES.filter((scope) => held.includes(scope));
  const asked = requested.split(' ').filter((word) => word !== '');
  if (asked.length === 0 || asked.some((word) => !held.some((scope) => scope === word))) return null;
  return SCOPES.filter((scope) => asked.includes(scope));
}

/** What a key must have for a request that asks for scopes; `null` where one of them is unknown. */
export function scopesNeeded(requested: string | null): Scope[] | null {
  return requested === null ? [] : scopesWithin(requested, SCOPES);
}

/** The scopes that a token gets. @throws {Refused} 400 `invalid_scope` for one that is unknown or not the key's. */
export function grantedScopes(requested: string | null, held: readonly Scope[]): Scope[] {
  const scopes = scopesWithin(requested, held);
  if (scopes !== null) return scopes;
  throw new Refused(
    invalidScope(`scope must name some of the key's own: ${held.join(' ') || 'it has none'}`),
  );
}
