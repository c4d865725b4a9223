/** A span for each request that is sampled, of which its reads are parts. What is refused for overload has none: it is nobody's work. */
import type { FastifyInstance } from 'fastify';
import plugin from 'fastify-plugin';
import { activeSpan, type Tracing, within } from '#shared/tracing.ts';

export const traceRequests = plugin(
  async (app: FastifyInstance, { tracing }: { tracing: Tracing | null }) => {
    app.decorateRequest('span', null);
    if (tracing === null) return;
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
          ...(route === undefined ? {} : { 'http.route': route }),
        },
        traceparents: typeof traceparent === 'string' ? [traceparent] : [],
        sinceMs: app.admission.queuedMs(request.raw),
      });
      if (request.span === null) done();
      else within(request.span, done);
    });
    // Whoever has read a body goes on where its last bytes came in.
    app.addHook('preValidation', ({ span }, _reply, done) => {
      if (span === null || activeSpan() === span) done();
      else within(span, done);
    });
    app.addHook('onResponse', (request, { statusCode }, done) => {
      const { span, refused, caller, heldMilliseconds } = request;
      span?.set({
        'http.response.status_code': statusCode,
        ...(caller === null ? {} : { 'store_data.environment': caller.environment }),
        ...(refused === null ? {} : { 'store_data.refusal': refused.reason }),
        ...(heldMilliseconds > 0 ? { 'store_data.held_ms': Math.round(heldMilliseconds) } : {}),
      });
      span?.end(statusCode >= 500 ? String(statusCode) : undefined);
      done();
    });
  },
  { name: 'traced-requests' },
);
