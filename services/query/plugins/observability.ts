/**
 * One measurement for each request, and one log line for as many as is set. Of what it asked for they tell the route: a query holds
 * names and phone numbers, and a path that is none of ours may be a secret in the wrong place.
 */
import plugin from 'fastify-plugin';

const METHODS = new Set(['GET', 'HEAD', 'POST']);

export default plugin(
  async (app) => {
    const { requestSeconds, refusals } = app.metrics;
    const { loggedPercent } = app.config.query;
    const isLogged = (route: string | undefined) =>
      route !== '/health' && (loggedPercent === 100 || Math.random() * 100 < loggedPercent);
    app.addHook('onResponse', (request, reply, done) => {
      const route = request.routeOptions.url;
      const milliseconds = reply.elapsedTime + app.admission.queuedMs(request.raw);
      const method = METHODS.has(request.method) ? request.method : 'other';
      requestSeconds.observe(
        { route: route ?? 'none', method, status: reply.statusCode },
        (milliseconds - request.heldMilliseconds) / 1_000,
      );
      const { refused } = request;
      if (refused !== null) {
        refusals.inc({ route: route ?? 'none', status: reply.statusCode, reason: refused.reason });
      }
      if (!isLogged(route)) {
        done();
        return;
      }
      app.log.info(
        {
          request_id: request.id,
          trace_id: request.span?.traceId,
          method: request.method,
          route,
          status: reply.statusCode,
          milliseconds: Math.round(milliseconds * 10) / 10,
          held: request.heldMilliseconds > 0 ? Math.round(request.heldMilliseconds) : undefined,
          store: request.caller?.storeId,
          environment: request.caller?.environment,
          client_id: request.caller?.clientId ?? request.clientId ?? refused?.clientId ?? undefined,
          reason: refused?.reason,
        },
        'request',
      );
      done();
    });
  },
  { name: 'observability', dependencies: ['access'] },
);
