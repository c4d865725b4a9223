/** Starts the projector as a process of its own. */
import { startOperations } from '#shared/operations.ts';
import { runService, type ServiceProcess } from '#shared/service.ts';
import { startTracing } from '#shared/tracing.ts';
import { createMetrics } from './metrics.ts';
import { type RunningProjector, startProjector } from './projector.ts';

const END_MS = 20_000;

await runService({ service: 'projector', title: 'projector', endMs: () => END_MS, start });

async function start({ config, logger, closing }: ServiceProcess): Promise<void> {
  const tracing = await startTracing(config, 'projector', logger);
  const metrics = createMetrics();
  let projector: RunningProjector | null = null;
  // Before anything is waited for, so that an operator sees that it lives.
  const operations = await startOperations({
    ...config.operations,
    live: () => projector?.isLive() ?? true,
    unreadyReason: () =>
      projector === null
        ? 'it waits for Kafka and MongoDB, or checks them'
        : projector.unreadyReason(),
    registry: metrics.registry,
    logger,
  });
  closing.push(async () => projector?.stop());
  closing.push(operations.close);
  closing.push(async () => tracing?.stop());
  projector = await startProjector(config, logger, { metrics, tracing });
  logger.info(
    { environments: config.environments, operations: operations.url },
    'projector started',
  );
  await projector.failed;
}
