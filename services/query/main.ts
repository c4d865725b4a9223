/** The process of the query service. */
import { setTimeout as sleep } from 'node:timers/promises';
import { startOperations } from '#shared/operations.ts';
import { runService, type ServiceProcess } from '#shared/service.ts';
import { startTracing } from '#shared/tracing.ts';
import { buildApp } from './app.ts';
import { type Listening, listenOnPort } from './listener.ts';
import { watchSigningKeys } from './access/tokens.ts';

/** How long requests in flight may take once no new ones are accepted. */
const CLOSE_DELAY_MS = 10_000;

await runService({
  service: 'query',
  title: 'query service',
  endMs: ({ query }) => query.shutdownDelayMs + CLOSE_DELAY_MS,
  start,
});

async function start({ config, logger, closing, ends }: ServiceProcess): Promise<void> {
  let listening: Listening | null = null;
  let wasHealthy = false;
  const signingKeys = await watchSigningKeys(config.tokens, logger);
  closing.push(signingKeys.stop);
  const tracing = await startTracing(config, 'query', logger);
  const app = await buildApp({ config, logger, signingKeys, tracing });
  closing.push(async () => {
    app.connections.endWithAnswers();
    // Load balancers learn from `/ready` to send requests elsewhere before the service stops
    // accepting them.
    if (listening !== null && ends() !== 'failure') await sleep(config.query.shutdownDelayMs);
    // The other sockets' requests are answered before MongoDB and Redis are closed.
    if (listening !== null) app.answered = listening.close();
    await app.close();
  });
  const operations = await startOperations({
    ...config.operations,
    live: () => true,
    unreadyReason: async () => {
      if (listening === null) return 'it starts';
      if (ends() !== null) return 'it stops';
      // A new release takes no traffic before it can answer; the old release does.
      const reason = app.services.generations.otherReleaseReason();
      if (reason !== null) return reason;
      // Only at the start: a later outage affects every instance.
      wasHealthy ||= await app.services.isHealthy();
      if (wasHealthy) return null;
      return app.services.redis.refusal() ?? 'MongoDB or Redis was not reached yet: see the log';
    },
    registry: app.services.metrics.registry,
    logger,
  });
  closing.push(operations.close);
  closing.push(async () => tracing?.stop());
  const isTls = config.query.tls.certFile !== null;
  const { host, port } = config.query;
  listening = await listenOnPort(app, { host, port, isTls });
  const url = isTls ? listening.url.replace(/^http:/, 'https:') : listening.url;
  logger.info(
    { url, operations: operations.url, environments: config.environments },
    'query service started',
  );
}
