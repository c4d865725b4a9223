/** Runs the projector as a process: from its environment variables to a graceful end. */
import closeWithGrace from 'close-with-grace';
import { readConfig } from '#shared/config.ts';
import { describeError, StoreDataError } from '#shared/errors.ts';
import { createLogger } from '#shared/logging.ts';
import { startOperations } from '#shared/operations.ts';
import { startProjector } from './projector.ts';

/** Resolves never; ends the process when it cannot go on, having said why. */
export async function runProjector(): Promise<void> {
  try {
    const config = readConfig(process.env);
    const logger = createLogger('projector', config.logLevel);
    const closing: (() => Promise<void>)[] = [];
    // From the start on: as the first process of a container it would not hear the signal otherwise.
    closeWithGrace({ delay: 20_000, logger }, async () => {
      for (const close of closing) await close();
    });
    const projector = await startProjector(config, logger);
    closing.push(projector.stop);
    const operations = await startOperations({
      ...config.operations,
      live: projector.isLive,
      ready: () => true,
      registry: projector.metrics.registry,
      logger,
    });
    closing.push(operations.close);
    logger.info({ environments: config.environments, operations: operations.url }, 'projector started');
    await projector.failed;
  } catch (error) {
    const message = error instanceof StoreDataError ? error.message : describeError(error);
    process.stderr.write(`projector: ${message}\n`);
    process.exit(1);
  }
}
