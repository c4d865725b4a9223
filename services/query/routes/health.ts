/** `GET /health`: whether requests can be served now. No detail that would help an attacker. */
import type { FastifyInstance } from 'fastify';
import { RETRY_AFTER_OUTAGE_SECONDS } from '#query/answers/refusal.ts';
import { healthOperation } from '#query/openapi/service-operations.ts';

export default async function health(app: FastifyInstance): Promise<void> {
  app.route({
    method: ['GET', 'HEAD'],
    url: '/health',
    config: { access: 'open', operation: healthOperation },
    handler: async (_request, reply) => {
      reply.header('cache-control', 'no-store');
      if (await app.isHealthy()) return { status: 'ok' };
      reply.code(503).header('retry-after', RETRY_AFTER_OUTAGE_SECONDS);
      return { status: 'unavailable' };
    },
  });
}
