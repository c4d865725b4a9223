/**
 * A token for a client of which there is a copy: one round trip to Redis, which brings the session there and says
 * whether the copy still holds. Only success is decided here; whatever else there is to say, MongoDB is asked.
 */
import type { RedisGate } from '../access/redis-gate.ts';
import { type Claim, isActive } from './client.ts';
import { GRANT_TYPE, type TokenForm } from './form.ts';
import { type Issuer, issueKnown, type TokenResponse } from './issue.ts';
import { isSame, type KnownClient, readVersion } from './known-clients.ts';
import type { MongodbPulse } from './mongodb-pulse.ts';
import { scopesWithin } from './scope.ts';

interface Servers {
  redisGate: RedisGate;
  mongodbPulse: MongodbPulse;
}

/**
 * @param client whose secret it is by the copy.
 * @returns `null` where anything speaks against it. A session is left in Redis then, at most until its token would have
 *   expired, whose id nobody knows.
 * @throws when Redis or MongoDB is away.
 */
export async function issueToKnown(
  issuer: Issuer,
  { redisGate, mongodbPulse }: Servers,
  client: KnownClient,
  { attempt }: Claim,
  { grantType, scope }: TokenForm,
): Promise<TokenResponse | null> {
  const scopes = scopesWithin(scope, client.key.scopes);
  if (scopes === null || grantType !== GRANT_TYPE || !isActive(client)) return null;
  const passage = redisGate.enter();
  const { redis } = issuer;
  const [unsuspicious, grant, state, response] = await Promise.all([
    // After the secret was compared: of many guesses at once none gets past the limit.
    attempt.isUnsuspicious(),
    readVersion(redis, client.grant),
    readVersion(redis, client.state),
    issueKnown(issuer, client, scopes),
    mongodbPulse.felt(),
  ]);
  redisGate.confirm(passage);
  const holds = isSame(grant, client.grant) && isSame(state, client.state);
  return unsuspicious && holds ? response : null;
}
