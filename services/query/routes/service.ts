/** What the service says of itself: its health, and the description of its API. */
import { routePlugin, type Route } from '../endpoints/data-endpoint.ts';
import { documentOperation, healthOperation } from '../openapi/operations.ts';
import { RETRY_AFTER_OUTAGE_SECONDS } from '../responses/refusal.ts';
import { sendStatic } from '../responses/compress.ts';

/** Whether requests can be served now. No detail that would help an attacker. */
const health: Route = {
  method: 'GET',
  path: '/health',
  operation: healthOperation,
  async handler({ server }, reply) {
    reply.header('cache-control', 'no-store');
    if (await server.services.isHealthy()) return { status: 'ok' };
    reply.code(503).header('retry-after', RETRY_AFTER_OUTAGE_SECONDS);
    return { status: 'unavailable' };
  },
};

/** A new release is noticed within minutes, and no client asks more often. */
const MAX_AGE_SECONDS = 300;

const openApi: Route = {
  method: 'GET',
  path: '/openapi.json',
  operation: documentOperation,
  handler: async ({ server }, reply) =>
    sendStatic(reply, server.openApiContent, `public, max-age=${MAX_AGE_SECONDS}`),
};

export default routePlugin([health, openApi]);
