/** The access check the usual way: signature, then session, then quota, one after the other. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';
import { jwtVerify } from 'jose';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { redisKeys } from '#shared/access/redis-keys.ts';
import type { SigningKeys } from '#query/token/signing-keys.ts';
import type { Config } from '#shared/config.ts';

declare module 'fastify' {
  interface FastifyRequest {
    storeId: string;
  }
}

/** Makes the hook that lets a request pass, or throws. */
export function accessCheck(config: Config, { verifying }: SigningKeys, redis: Redis) {
  const { issuer, audience } = config.tokens;
  const limiter = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: `${config.namePrefix}:usual-way`,
    points: config.query.quota.requests,
    duration: config.query.quota.windowSeconds,
  });
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const token = request.headers.authorization?.slice('Bearer '.length) ?? '';
    const { payload } = await jwtVerify(
      token,
      ({ kid }) => {
        const key = verifying.get(kid ?? '');
        if (key === undefined) throw new Error('unknown key');
        return key;
      },
      { issuer, audience },
    );
    const storeId = String(payload['store_id']);
    const environment = String(payload['environment']);
    const session = await redis.get(
      redisKeys(config.namePrefix, environment, storeId).session(String(payload.jti)),
    );
    if (session === null) throw Object.assign(new Error('the session has ended'), { statusCode: 401 });
    const { remainingPoints, msBeforeNext } = await limiter.consume(`${environment}:${storeId}`);
    reply.header('ratelimit', `"store";r=${remainingPoints};t=${Math.ceil(msBeforeNext / 1_000)}`);
    request.storeId = storeId;
  };
}
