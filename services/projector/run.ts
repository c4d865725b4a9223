/** Runs the projector as a process: from its environment variables to a graceful end. */
import closeWithGrace from 'close-with-grace';
import { nearMisses, readConfig } from '#shared/config.ts';
import { describeError, StoreDataError } from '#shared/errors.ts';
import { createLogger } from '#shared/logging.ts';
import { startOperations } from '#shared/operations.ts';
import { startTracing } from '#shared/tracing.ts';
import { createMetrics } from './metrics.ts';
import { type RunningProjector, startProjector } from './projector.ts';
import { statusPages } from './status/pages.ts';

/** Resolves never; ends the process when it cannot go on, having said why. */
export async function runProjector(): Promise<void> {
  try {
    const config = readConfig(process.env);
    const logger = createLogger('projector', config.logLevel, undefined, config.logFormat);
    const closing: (() => Promise<void>)[] = [];
    // From the start on: as the first process of a container it would not hear the signal otherwise.
    closeWithGrace({ delay: 20_000, logger }, async () => {
      for (const close of closing) await close();
    });
    for (const line of nearMisses(process.env)) logger.warn(line);
    const tracing = await startTracing(config, 'projector', logger);
    const metrics = createMetrics();
    let projector: RunningProjector | null = null;
    // Before anything is waited for, so that an operator sees that it lives.
    const operations = await startOperations({
      ...config.operations,
      live: () => projector?.isLive() ?? true,
      ready: () => projector !== null,
      registry: metrics.registry,
      pages: statusPages(() => projector?.status() ?? Promise.resolve(null)),
      logger,
    });
    closing.push(async () => projector?.stop());
    closing.push(operations.close);
    closing.push(async () => tracing?.stop());
    projector = await startProjector(config, logger, { metrics, tracing });
    logger.info({ environments: config.environments, operations: operations.url }, 'projector started');
    await projector.failed;
  } catch (error) {
    const message = error instanceof StoreDataError ? error.message : describeError(error);
    process.stderr.write(`projector: ${message}\n`);
    process.exit(1);
  }
}
