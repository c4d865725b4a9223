/** Starts the query service as a process of its own. */
import closeWithGrace from 'close-with-grace';
import { loadSigningKeys } from '#shared/access/signing-keys.ts';
import { readConfig } from '#shared/config.ts';
import { describeError, StoreDataError } from '#shared/errors.ts';
import { createLogger } from '#shared/logging.ts';
import { startOperations } from '#shared/operations.ts';
import { buildApp } from './app.ts';

/** Requests in flight get this long to end. */
const CLOSE_DELAY_MS = 10_000;

try {
  const config = readConfig(process.env);
  const logger = createLogger('query', config.logLevel);
  const signingKeys = await loadSigningKeys(config.tokens);
  const app = await buildApp({ config, logger, signingKeys });
  let ready = false;
  const operations = await startOperations({
    ...config.operations,
    live: () => true,
    ready: () => ready,
    registry: app.metrics.registry,
    logger,
  });
  const url = await app.listen({ host: config.query.host, port: config.query.port });
  ready = true;
  logger.info(
    { url, operations: operations.url, environments: config.environments },
    'query service started',
  );
  closeWithGrace({ delay: CLOSE_DELAY_MS, logger }, async ({ err, signal }) => {
    ready = false;
    if (err) logger.fatal({ err }, 'the query service failed');
    else logger.info({ signal }, 'query service stops');
    await app.close();
    await operations.close();
  });
} catch (error) {
  const message = error instanceof StoreDataError ? error.message : describeError(error);
  process.stderr.write(`query: ${message}\n`);
  process.exit(1);
}
