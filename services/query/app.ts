/** Builds the query service: its services, its hooks, its routes. */
import type { RequestListener } from 'node:http';
import autoload from '@fastify/autoload';
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { Config } from '#shared/config.ts';
import type { Logger } from '#shared/logging.ts';
import { PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import { REQUEST_ID_HEADER, requestIdOf } from '#shared/operations.ts';
import type { Tracing } from '#shared/tracing.ts';
import { ROUTES_FOLDER } from './declared-routes.ts';
import { docsRoutes } from './docs/index.ts';
import { routePlugin } from './endpoints/data-endpoint.ts';
import { observeRequests, refuseOthers } from './hooks/requests.ts';
import { type ClientConnections, clientConnections, createListener } from './listener.ts';
import { createMetrics } from './metrics.ts';
import { createAdmission, MAX_BODY_BYTES } from './overload/admission.ts';
import { watchEventLoop } from './overload/event-loop.ts';
import { keepQuery } from './parameters/read.ts';
import {
  classify,
  clientErrorHandler,
  refuseConnect,
  refuseManyFields,
  sendRefusal,
} from './responses/send.ts';
import { type StaticContent, staticContent } from './responses/compress.ts';
import { openApiDocument } from './openapi/document.ts';
import { createServices } from './services.ts';
import { createTokens, type SigningKeys } from './access/tokens.ts';
import { clientAddresses, senders } from './access/client-address.ts';

interface AppOptions {
  config: Config;
  logger: Logger;
  signingKeys: SigningKeys;
  /** The release's, unless a test plays another release. */
  projectionVersion?: number;
  tracing?: Tracing | null;
}

declare module 'fastify' {
  interface FastifyInstance {
    connections: ClientConnections;
    /** Services are closed only after this. */
    answered: Promise<void>;
    openApiContent: StaticContent;
  }
}

/** Builds the app and connects its clients; does not listen. Closing the app closes them. */
export async function buildApp({
  config,
  logger,
  signingKeys,
  projectionVersion = PROJECTION_VERSION,
  tracing = null,
}: AppOptions): Promise<FastifyInstance> {
  const metrics = createMetrics(signingKeys);
  const tokens = createTokens(signingKeys, config.tokens);
  const addressOf = clientAddresses(config.query.trustedProxies, (proxy) =>
    logger.warn(
      { proxy },
      'an entry of X-Forwarded-For is not an address: its clients count as the proxy that sent it',
    ),
  );
  const admission = createAdmission({
    busyShare: watchEventLoop(),
    latencyMs: config.query.overloadLatencyMs,
    senderOf: senders(tokens.verifiedBefore, addressOf),
    metrics,
    logger,
  });
  const admitted = (handler: RequestListener) => refuseManyFields(admission.before(handler));
  const services = await createServices({
    config,
    logger,
    metrics,
    admission,
    tokens,
    addressOf,
    projectionVersion,
  });
  const connections = clientConnections();
  const loggerInstance: FastifyBaseLogger = logger;
  const app = fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (parent) => parent,
    genReqId: ({ headers }) => requestIdOf(headers[REQUEST_ID_HEADER]),
    requestIdHeader: false,
    serverFactory: (handler) =>
      createListener(admitted(handler), { tls: config.query.tls, connections, logger }),
    // Requests that arrive while closing are served, with `Connection: close`.
    return503OnClosing: false,
    // Our routes declare HEAD: the framework's would drop the body before it is compressed.
    exposeHeadRoutes: false,
    bodyLimit: MAX_BODY_BYTES,
    routerOptions: { querystringParser: keepQuery },
    clientErrorHandler: clientErrorHandler(logger),
    // No hook runs for a target that cannot be decoded.
    frameworkErrors: (error, request, reply) => {
      reply.header(REQUEST_ID_HEADER, request.id);
      sendRefusal(reply, classify(error));
    },
  });
  app.server.on('connect', refuseConnect);
  // An unknown expectation may be ignored (RFC 9110 section 10.1.1); Node's refusal would have no
  // body.
  app.server.on('checkExpectation', admitted(app.routing));
  app.removeAllContentTypeParsers();
  // The token endpoint, the only route with a body, parses it.
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.decorate('services', services);
  app.decorate('routes', []);
  app.decorate('connections', connections);
  app.decorate('answered', Promise.resolve());
  observeRequests(app, tracing);
  refuseOthers(app);
  // Held answers are sent before connections are closed.
  app.addHook('preClose', async () => {
    services.endWaits();
    connections.end();
  });
  app.addHook('onClose', async () => {
    await app.answered;
    await services.close();
  });
  await app.register(autoload, ROUTES_FOLDER);
  if (config.query.docs) await app.register(routePlugin(docsRoutes()));
  // Made now: a document that cannot be made stops the start.
  const document = JSON.stringify(openApiDocument(app.routes));
  app.decorate('openApiContent', await staticContent('application/json; charset=utf-8', document));
  await app.ready();
  return app;
}
