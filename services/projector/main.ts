/** Starts the projector as a process of its own. */
import closeWithGrace from 'close-with-grace';
import { readConfig } from '#shared/config.ts';
import { describeError, StoreDataError } from '#shared/errors.ts';
import { createLogger } from '#shared/logging.ts';
import { startOperations } from '#shared/operations.ts';
import { startProjector } from './projector.ts';

try {
  const config = readConfig(process.env);
  const logger = createLogger('projector', config.logLevel);
  const projector = await startProjector(config, logger);
  const operations = await startOperations({
    ...config.operations,
    live: projector.isLive,
    ready: () => true,
    registry: projector.metrics.registry,
    logger,
  });
  logger.info({ environments: config.environments, operations: operations.url }, 'projector started');
  closeWithGrace({ delay: 20_000, logger }, async () => {
    await projector.stop();
    await operations.close();
  });
  await projector.failed;
} catch (error) {
  const message = error instanceof StoreDataError ? error.message : describeError(error);
  process.stderr.write(`projector: ${message}\n`);
  process.exit(1);
}
