/** Starts the query service as a process of its own. */
import closeWithGrace from 'close-with-grace';
import { readConfig } from '#shared/config.ts';
import { describeError, StoreDataError } from '#shared/errors.ts';
import { createLogger } from '#shared/logging.ts';
import { startOperations } from '#shared/operations.ts';
import { buildApp } from './app.ts';
import { measureSigningKeys, watchSigningKeys } from './token/watched-keys.ts';

/** Requests in flight get this long to end. */
const CLOSE_DELAY_MS = 10_000;

try {
  const config = readConfig(process.env);
  const logger = createLogger('query', config.logLevel);
  let ready = false;
  const closing: (() => Promise<void>)[] = [];
  // From the start on: as the first process of a container it would not hear the signal otherwise.
  closeWithGrace({ delay: CLOSE_DELAY_MS, logger }, async ({ err, signal }) => {
    ready = false;
    if (err) logger.fatal({ err }, 'the query service failed');
    else logger.info({ signal }, 'query service stops');
    for (const close of closing) await close();
  });
  const signingKeys = await watchSigningKeys(config.tokens, logger);
  closing.push(async () => signingKeys.stop());
  const app = await buildApp({ config, logger, signingKeys });
  closing.push(() => app.close());
  measureSigningKeys(app.metrics.registry, signingKeys);
  const operations = await startOperations({
    ...config.operations,
    live: () => true,
    // A new release takes no traffic before it can answer; the one before it does meanwhile.
    ready: () => ready && !app.generations.isForeign(),
    registry: app.metrics.registry,
    logger,
  });
  closing.push(operations.close);
  const address = await app.listen({ host: config.query.host, port: config.query.port });
  const url = config.query.tls.certFile === null ? address : address.replace(/^http:/, 'https:');
  ready = true;
  logger.info(
    { url, operations: operations.url, environments: config.environments },
    'query service started',
  );
} catch (error) {
  const message = error instanceof StoreDataError ? error.message : describeError(error);
  process.stderr.write(`query: ${message}\n`);
  process.exit(1);
}
