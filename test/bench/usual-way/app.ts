/** The same API the usual way: Fastify, the MongoDB driver, documents decoded and serialized for every request. */
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { Redis } from 'ioredis';
import type { Db } from 'mongodb';
import type { SigningKeys } from '#query/token/signing-keys.ts';
import type { Config } from '#shared/config.ts';
import type { Logger } from '#shared/logging.ts';
import { accessCheck } from './access.ts';
import { answerConditionally } from './conditional.ts';
import { shifts } from './local-time.ts';
import { addDetails } from './routes/details.ts';
import { addLists } from './routes/lists.ts';
import { addMenu } from './routes/menu.ts';

export interface UsualWayOptions {
  config: Config;
  logger: Logger;
  signingKeys: SigningKeys;
  db: Db;
  redis: Redis;
}

/** Builds the app; it does not listen. */
export async function buildUsualWay(options: UsualWayOptions): Promise<FastifyInstance> {
  const { config, logger, signingKeys, db, redis } = options;
  const loggerInstance: FastifyBaseLogger = logger;
  const app = fastify({
    loggerInstance,
    // One line for each request like the query service's, not the two of the framework.
    logController: new LogController({ disableRequestLogging: true }),
  });
  app.decorateRequest('storeId', '');
  app.addHook('onRequest', accessCheck(config, signingKeys, redis));
  app.addHook('onSend', answerConditionally);
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
  await app.ready();
  return app;
}
