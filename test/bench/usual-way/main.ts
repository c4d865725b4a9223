/**
 * The usual implementation of the benchmarked API: Fastify, the MongoDB driver, documents decoded
 * and serialized per request.
 */
import closeWithGrace from 'close-with-grace';
import fastify, {
  type FastifyReply,
  type FastifyRequest,
  type FastifyBaseLogger,
  LogController,
} from 'fastify';
import { hash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { Redis } from 'ioredis';
import { type JWTPayload, jwtVerify } from 'jose';
import { MongoClient } from 'mongodb';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { loadSigningKeys, type SigningKeys } from '#query/access/tokens.ts';
import { redisKeys } from '#shared/access/grants.ts';
import { readConfig } from '#shared/config.ts';
import { createLogger } from '#shared/logging.ts';
import { shifts, usualWayDatabase } from './documents.ts';
import { addDetails } from './routes/details.ts';
import { addLists } from './routes/lists.ts';
import { addMenu } from './routes/menu.ts';

const config = readConfig(process.env);
const logger: FastifyBaseLogger = createLogger('usual-way', config.logLevel);
const client = new MongoClient(config.mongodb.uri);
const redis = new Redis(config.redis.url, { enableAutoPipelining: true });
const db = usualWayDatabase(client, config.namePrefix);
const app = fastify({
  loggerInstance: logger,
  // One log line per request like the query service's, instead of the framework's two.
  logController: new LogController({ disableRequestLogging: true }),
});
app.decorateRequest('storeId', '');
app.addHook('onRequest', accessCheck(await loadSigningKeys(config.tokens)));
app.addHook('onSend', answerConditionally);
app.addHook('onSend', compress);
app.addHook('onResponse', (request, reply, done) => {
  const { method, id } = request;
  const { statusCode: status, elapsedTime: milliseconds } = reply;
  logger.info({ id, method, path: request.routeOptions.url, status, milliseconds }, 'request');
  done();
});
const shiftOf = shifts(db);
addLists(app, db, shiftOf);
addDetails(app, db, shiftOf);
addMenu(app, db, shiftOf);
const url = await app.listen({ host: '127.0.0.1', port: 0 });
logger.info({ url }, 'the usual way started');
closeWithGrace(async () => {
  await app.close();
  await client.close();
  redis.disconnect();
});

/** Sets the entity tag of an answer, a hash of the finished body. */
async function answerConditionally(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  if (typeof payload !== 'string' || reply.statusCode !== 200) return payload;
  const etag = `W/"${hash('sha1', payload, 'base64url')}"`;
  reply.header('etag', etag).header('cache-control', 'private, no-cache');
  if (request.headers['if-none-match'] !== etag) return payload;
  reply.code(304);
  return '';
}

/** The fastest gzip: synchronous, at the lowest level. */
async function compress(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  if (typeof payload !== 'string' || payload.length <= 1_024) return payload;
  if (headers['accept-encoding']?.includes('gzip') !== true) return payload;
  reply
    .header('content-encoding', 'gzip')
    .header('vary', 'accept-encoding')
    .removeHeader('content-length');
  return gzipSync(payload, { level: 1 });
}

declare module 'fastify' {
  interface FastifyRequest {
    storeId: string;
  }
}

/** Makes the hook that authorizes a request, or throws. */
function accessCheck({ verifying }: SigningKeys) {
  const { issuer, audience } = config.tokens;
  const limiter = new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: `${config.namePrefix}:usual-way`,
    points: config.query.quota.requests,
    duration: config.query.quota.windowSeconds,
  });
  const verified = new Map<string, JWTPayload>();
  const verify = async (token: string) => {
    const known = verified.get(token);
    if (known?.exp !== undefined && known.exp * 1_000 > Date.now()) return known;
    const { payload } = await jwtVerify(
      token,
      ({ kid }) => {
        const key = verifying.get(kid ?? '');
        if (key === undefined) throw new Error('unknown key');
        return key;
      },
      { issuer, audience },
    );
    verified.set(token, payload);
    return payload;
  };
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const payload = await verify(request.headers.authorization?.slice('Bearer '.length) ?? '');
    const storeId = String(payload['store_id']);
    const environment = String(payload['environment']);
    const [session, { remainingPoints, msBeforeNext }] = await Promise.all([
      redis.get(redisKeys(config.namePrefix, environment, storeId).session(String(payload.jti))),
      limiter.consume(`${environment}:${storeId}`),
    ]);
    if (session === null)
      throw Object.assign(new Error('the session has ended'), { statusCode: 401 });
    reply.header('ratelimit', `"store";r=${remainingPoints};t=${Math.ceil(msBeforeNext / 1_000)}`);
    request.storeId = storeId;
  };
}
