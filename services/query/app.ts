/** Builds the query service: its plugins, then its routes, each found by its place in a folder. */
import { join } from 'node:path';
import autoload from '@fastify/autoload';
import compress from '@fastify/compress';
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { SigningKeys } from './token/signing-keys.ts';
import type { Config } from '#shared/config.ts';
import type { Logger } from '#shared/logging.ts';
import { PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import type { Tracing } from '#shared/tracing.ts';
import { REQUEST_ID_HEADER, requestIdOf } from '#shared/request-id.ts';
import { clientErrorHandler, refuseConnect } from './answers/client-error.ts';
import { classify } from './answers/classify.ts';
import { sendRefusal } from './answers/send.ts';
import { createListener } from './listener.ts';
import docs from './docs/index.ts';
import { createMetrics } from './metrics.ts';
import { Admission } from './overload/admission.ts';
import { keepQuery } from './parameters/read.ts';
import { traceRequests } from './traced-requests.ts';
import './types.ts';

export interface AppOptions {
  config: Config;
  logger: Logger;
  signingKeys: SigningKeys;
  /** The release's, unless a test plays another release. */
  projectionVersion?: number;
  tracing?: Tracing | null;
}

/** Builds the app; it opens its clients, but does not listen. Closing it closes them. */
export async function buildApp({
  config,
  logger,
  signingKeys,
  projectionVersion = PROJECTION_VERSION,
  tracing = null,
}: AppOptions): Promise<FastifyInstance> {
  const loggerInstance: FastifyBaseLogger = logger;
  const metrics = createMetrics();
  const admission = new Admission(config.query.overloadLatencyMs, metrics, logger);
  let isEnding = false;
  const app = fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (parent) => parent,
    genReqId: ({ headers }) => requestIdOf(headers[REQUEST_ID_HEADER]),
    requestIdHeader: false,
    // Each wait of a plugin's has a limit of its own; after that the service starts, and answers 503 meanwhile.
    pluginTimeout: 0,
    serverFactory: (handler) =>
      createListener(admission.before(handler), { tls: config.query.tls, isEnding: () => isEnding, logger }),
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
  app.server.on('connect', refuseConnect);
  // An expectation that we don't know may be ignored (RFC 9110 section 10.1.1); Node's own refusal would have no body.
  app.server.on('checkExpectation', admission.before(app.routing));
  app.removeAllContentTypeParsers();
  app.decorate('config', config);
  app.decorate('logger', logger);
  app.decorate('signingKeys', signingKeys);
  app.decorate('projectionVersion', projectionVersion);
  app.decorate('metrics', metrics);
  app.decorate('admission', admission);
  app.decorate('endConnections', () => {
    isEnding = true;
  });
  // First, so that what any hook does is a part of the request's span.
  await app.register(traceRequests, { tracing });
  await app.register(autoload, { dir: join(import.meta.dirname, 'plugins') });
  // Answers of more than 1 KiB, where it is asked for. A compressed request body is no form.
  await app.register(compress, {
    encodings: ['br', 'gzip', 'identity'],
    threshold: 1_025,
    globalDecompression: false,
  });
  await app.register(autoload, { dir: join(import.meta.dirname, 'routes') });
  if (config.query.docs) await app.register(docs);
  await app.ready();
  return app;
}
