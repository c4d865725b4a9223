/** Builds the query service: its services, its hooks, its routes. */
import autoload from '@fastify/autoload';
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { Config } from '#shared/config.ts';
import type { Logger } from '#shared/logging.ts';
import { PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import { REQUEST_ID_HEADER, requestIdOf } from '#shared/request-id.ts';
import type { Tracing } from '#shared/tracing.ts';
import { ROUTES_FOLDER } from './declared-routes.ts';
import { docsRoutes } from './docs/index.ts';
import { routePlugin } from './endpoints/data-endpoint.ts';
import { observeRequests, refuseOthers } from './hooks/requests.ts';
import { createListener } from './listener.ts';
import { createMetrics } from './metrics.ts';
import { Admission } from './overload/admission.ts';
import { keepQuery } from './parameters/read.ts';
import { classify, clientErrorHandler, refuseConnect, sendRefusal } from './responses/send.ts';
import { type StaticContent, staticContent } from './responses/compress.ts';
import { openApiDocument } from './openapi/document.ts';
import { createServices } from './services.ts';
import { createTokens, type SigningKeys } from './access/tokens.ts';
import { clientAddresses, senders } from './token/failed-authentications.ts';

/** A token request, the only one with a body, is a few hundred bytes. */
const BODY_LIMIT = 16_384;

export interface AppOptions {
  config: Config;
  logger: Logger;
  signingKeys: SigningKeys;
  /** The release's, unless a test plays another release. */
  projectionVersion?: number;
  tracing?: Tracing | null;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Whether each connection ends with its next answer, so that none is left when the service stops. */
    isEnding: boolean;
    /** What answers need is closed after this too. */
    answered: Promise<void>;
    /** The OpenAPI document, made from what the routes declare. */
    openApiContent: StaticContent;
  }
}

/** Builds the app; it opens its clients, but does not listen. Closing it closes them. */
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
      'an entry of X-Forwarded-For is no address: those it stands for count as the proxy that sent it',
    ),
  );
  const admission = new Admission({
    latencyMs: config.query.overloadLatencyMs,
    senderOf: senders(tokens.verifiedBefore, addressOf),
    metrics,
    logger,
  });
  const services = await createServices({ config, logger, metrics, admission, tokens, addressOf, projectionVersion });
  const loggerInstance: FastifyBaseLogger = logger;
  const app = fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (parent) => parent,
    genReqId: ({ headers }) => requestIdOf(headers[REQUEST_ID_HEADER]),
    requestIdHeader: false,
    serverFactory: (handler) =>
      createListener(admission.before(handler), {
        tls: config.query.tls,
        isEnding: (): boolean => app.isEnding,
        logger,
      }),
    // Requests that arrive while closing are served, with `Connection: close`.
    return503OnClosing: false,
    // The routes say HEAD themselves: the framework's own would drop the body before it is compressed.
    exposeHeadRoutes: false,
    bodyLimit: BODY_LIMIT,
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
  // Every body is taken as it is: whether it is a form says the token endpoint. No other route takes one.
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.decorate('services', services);
  app.decorate('routes', []);
  app.decorate('isEnding', false);
  app.decorate('answered', Promise.resolve());
  observeRequests(app, tracing);
  refuseOthers(app);
  // Answers that are held are sent before connections are closed.
  app.addHook('preClose', async () => services.endWaits());
  app.addHook('onClose', async () => {
    await app.answered;
    await services.close();
  });
  await app.register(autoload, ROUTES_FOLDER);
  if (config.query.docs) await app.register(routePlugin(docsRoutes()));
  // Before anybody asks: a document that cannot be made stops the service from starting.
  const document = JSON.stringify(openApiDocument(app.routes));
  app.decorate('openApiContent', await staticContent('application/json; charset=utf-8', document));
  await app.ready();
  return app;
}
