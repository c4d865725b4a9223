/**
 * Hooks for all requests: refuse what has no route or is ambiguous, trace sampled requests, measure
 * all, log the configured share.
 */
import { closest } from 'fastest-levenshtein';
import type { FastifyInstance } from 'fastify';
import type { IncomingMessage } from 'node:http';
import { describeError, framesOf } from '#shared/errors.ts';
import { repeatedLines } from '#shared/logging.ts';
import { REQUEST_ID_HEADER } from '#shared/operations.ts';
import { methodsOf, type Route } from '../endpoints/data-endpoint.ts';
import {
  invalidRequest,
  methodNotAllowed,
  notFound,
  type Refusal,
  Refused,
} from '../responses/refusal.ts';
import { classify, pathOf, sendRefusal } from '../responses/send.ts';
import { activeSpan, type Tracing, within } from '#shared/tracing.ts';

export function refuseOthers(app: FastifyInstance): void {
  const { logger } = app.services;
  app.decorateRequest('caller', null);
  app.decorateRequest('clientId', null);
  app.decorateRequest('refusedFor', null);
  const leftOutOf = repeatedLines();
  app.setErrorHandler((error, request, reply) => {
    const refusal = classify(error);
    const facts = {
      request_id: request.id,
      trace_id: request.span?.context.traceId,
      route: request.routeOptions.url,
      // Nothing else of the error: a library's may hold what a client sent.
      error: describeError(error),
    };
    if (refusal.status === 500)
      logger.error({ ...facts, stack: framesOf(error) }, 'request answered with 500');
    else if (refusal.status === 503) {
      const leftOut = leftOutOf(facts.error);
      if (leftOut !== null)
        logger.warn({ ...facts, left_out: leftOut || undefined }, 'request answered with 503');
    }
    return sendRefusal(reply, refusal);
  });
  app.addHook('onRequest', (request, reply, done) => {
    reply.header(REQUEST_ID_HEADER, request.id);
    // Not in the not-found handler: the framework checks the content type before it.
    if (request.is404) {
      const path = pathOf(request.raw.url);
      const allowed = app.routes.filter((route) => route.path === path).flatMap(methodsOf);
      sendRefusal(
        reply,
        allowed.length === 0 ? noSuchPath(path, app.routes) : methodNotAllowed(allowed),
      );
      return;
    }
    const mistake = ambiguityOf(request.raw);
    done(mistake === null ? undefined : new Refused(invalidRequest(mistake)));
  });
}

/** A longer path is compared by its beginning. */
const COMPARED_LENGTH = 100;

/** Names the most similar path of the API. */
export function noSuchPath(path: string, routes: readonly Route[]): Refusal {
  const paths = routes.filter(({ operation }) => operation !== null).map((route) => route.path);
  const nearest = closest(path.slice(0, COMPARED_LENGTH).toLowerCase(), paths);
  return notFound(`there is nothing at this path; the nearest is ${nearest}`);
}

/** The headers that decide about a request: each may come once. */
const ONCE = ['host', 'authorization', 'content-type'];

/** `uri-host [ ":" port ]` of RFC 3986; it may be empty. */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/;

/**
 * Finds what a proxy and this server could read differently. HTTP/1.1 requires one valid `Host`
 * (RFC 9112 section 3.2); Node's own refusal has no body. Node takes the first of a repeated
 * header, a proxy may check the last. One server cuts the target at a `#`, another does not.
 */
function ambiguityOf(request: IncomingMessage): string | null {
  const { url, httpVersion, headersDistinct } = request;
  if (url?.includes('#')) return 'the request target holds a #: encode it as %23';
  const repeated = ONCE.find((name) => (headersDistinct[name]?.length ?? 0) > 1);
  if (repeated !== undefined) return `the header ${repeated} must come once`;
  const { host } = request.headers;
  if (host === undefined) return httpVersion === '1.1' ? 'the Host header is required' : null;
  return HOST.test(host) ? null : 'the Host header is not a host';
}

// Log lines and labels name only the route: a query holds names and phone numbers, and an unknown
// path may be a misplaced secret.

const METHODS = new Set(['GET', 'HEAD', 'POST']);

/** Called first, so that a request's span includes the work of all other hooks. */
export function observeRequests(app: FastifyInstance, tracing: Tracing | null): void {
  app.decorateRequest('admitted', null);
  app.decorateRequest('span', null);
  app.decorateRequest('heldMilliseconds', 0);
  const { admission, metrics, config, logger } = app.services;
  app.addHook('onRequest', (request, _reply, done) => {
    request.admitted = admission.beginning;
    done();
  });
  if (tracing !== null) traceRequests(app, tracing);
  const { requestSeconds, refusals } = metrics;
  const { loggedPercent } = config.query;
  const isLogged = (route: string | undefined) =>
    route !== '/health' && Math.random() * 100 < loggedPercent;
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url;
    const { refusedFor: reason, caller, heldMilliseconds } = request;
    const { statusCode: status } = reply;
    const milliseconds = reply.elapsedTime + (request.admitted?.queuedMs ?? 0);
    const method = METHODS.has(request.method) ? request.method : 'other';
    requestSeconds.observe(
      { route: route ?? 'none', method, status },
      (milliseconds - heldMilliseconds) / 1_000,
    );
    if (reason !== null) refusals.inc({ route: route ?? 'none', status, reason });
    if (isLogged(route)) {
      logger.info(
        {
          request_id: request.id,
          trace_id: request.span?.context.traceId,
          method: request.method,
          route,
          status,
          milliseconds: Math.round(milliseconds * 10) / 10,
          held: heldMilliseconds > 0 ? Math.round(heldMilliseconds) : undefined,
          store: caller?.storeId,
          environment: caller?.environment,
          client_id: request.clientId ?? undefined,
          reason: reason ?? undefined,
        },
        'request',
      );
    }
    done();
  });
}

/** A request that is refused for overload has no span. */
function traceRequests(app: FastifyInstance, tracing: Tracing): void {
  const { config } = app.services;
  const isRoot = !config.query.trustTraceparent;
  app.addHook('onRequest', (request, _reply, done) => {
    const { method, protocol } = request;
    const route = request.routeOptions.url;
    const { traceparent } = request.headers;
    request.span = tracing.begin({
      name: route === undefined ? method : `${method} ${route}`,
      kind: 'server',
      attributes: {
        'http.request.method': method,
        'url.scheme': protocol,
        ...(route !== undefined && { 'http.route': route }),
      },
      traceparents: typeof traceparent === 'string' ? [traceparent] : [],
      isRoot,
      sinceMs: request.admitted?.queuedMs ?? 0,
    });
    if (request.span === null) done();
    else within(request.span, done);
  });
  // Once a body was read, the active context is that of its last bytes.
  app.addHook('preValidation', ({ span }, _reply, done) => {
    if (span === null || activeSpan() === span) done();
    else within(span, done);
  });
  app.addHook('onResponse', (request, { statusCode }, done) => {
    const { span, refusedFor, caller, heldMilliseconds } = request;
    span?.set({
      'http.response.status_code': statusCode,
      ...(caller !== null && { 'store_data.environment': caller.environment }),
      ...(refusedFor !== null && { 'store_data.refusal': refusedFor }),
      ...(heldMilliseconds > 0 && { 'store_data.held_ms': Math.round(heldMilliseconds) }),
    });
    span?.end(statusCode >= 500 ? String(statusCode) : undefined);
    done();
  });
}
