/** Builds the query service: its plugins, then its routes, each found by its place in a folder. */
import { join } from 'node:path';
import autoload from '@fastify/autoload';
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { SigningKeys } from '#shared/access/signing-keys.ts';
import type { Config } from '#shared/config.ts';
import type { Logger } from '#shared/logging.ts';
import { PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import { REQUEST_ID_HEADER, requestIdOf } from '#shared/request-id.ts';
import { clientErrorHandler, refuseConnect } from './answers/client-error.ts';
import { classify } from './answers/classify.ts';
import { sendRefusal } from './answers/send.ts';
import { createMetrics } from './metrics.ts';
import { keepQuery } from './parameters/query.ts';
import './types.ts';

export interface AppOptions {
  config: Config;
  logger: Logger;
  signingKeys: SigningKeys;
  /** The release's, unless a test plays another release. */
  projectionVersion?: number;
}

/** A request, headers and body, must have arrived within this time. */
const REQUEST_TIMEOUT_MS = 10_000;
/** A client that takes nothing of its answer is cut off after once to twice this time. */
const STALLED_TIMEOUT_MS = 10_000;
/** Longer than balancers keep idle connections (60 s), so that none is closed under a request of theirs. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
const CHECK_CONNECTIONS_MS = 1_000;
const MAX_HEADER_BYTES = 16_384;

/** Builds the app; it opens its clients, but does not listen. Closing it closes them. */
export async function buildApp({
  config,
  logger,
  signingKeys,
  projectionVersion = PROJECTION_VERSION,
}: AppOptions): Promise<FastifyInstance> {
  const loggerInstance: FastifyBaseLogger = logger;
  const app = fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (parent) => parent,
    genReqId: ({ headers }) => requestIdOf(headers[REQUEST_ID_HEADER]),
    requestIdHeader: false,
    // Each wait of a plugin's has a limit of its own; after that the service starts, and answers 503 meanwhile.
    pluginTimeout: 0,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: STALLED_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    http: {
      headersTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_CONNECTIONS_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      // Checked by a hook of ours (plugins/unambiguous-headers.ts), whose answer has a body.
      requireHostHeader: false,
    },
    // Requests that arrive while closing are served, with `Connection: close`.
    return503OnClosing: false,
    // The routes say HEAD themselves: the framework's own would drop the body before it is compressed.
    exposeHeadRoutes: false,
    routerOptions: { querystringParser: keepQuery },
    clientErrorHandler: clientErrorHandler(logger),
    // A target that cannot be decoded passes no hook.
    frameworkErrors: (error, request, reply) => {
      reply.header(REQUEST_ID_HEADER, request.id);
      sendRefusal(request, reply, classify(error));
    },
  });
  // Node would drop those above 2,000 without a word: one that we decide by could be among them. Their bytes are limited.
  app.server.maxHeadersCount = 0;
  app.server.on('connect', refuseConnect);
  // An expectation that we don't know may be ignored (RFC 9110 section 10.1.1); Node's own refusal would have no body.
  app.server.on('checkExpectation', app.routing);
  app.removeAllContentTypeParsers();
  app.decorate('config', config);
  app.decorate('logger', logger);
  app.decorate('signingKeys', signingKeys);
  app.decorate('projectionVersion', projectionVersion);
  app.decorate('metrics', createMetrics());
  await app.register(autoload, { dir: join(import.meta.dirname, 'plugins') });
  await app.register(autoload, { dir: join(import.meta.dirname, 'routes') });
  await app.ready();
  return app;
}
