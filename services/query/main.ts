/** Starts the query service as a process of its own. */
import { setTimeout as sleep } from 'node:timers/promises';
import closeWithGrace from 'close-with-grace';
import { nearMisses, readConfig } from '#shared/config.ts';
import { describeError, StoreDataError } from '#shared/errors.ts';
import { createLogger } from '#shared/logging.ts';
import { startOperations } from '#shared/operations.ts';
import { startTracing } from '#shared/tracing.ts';
import { buildApp } from './app.ts';
import { measureSigningKeys, watchSigningKeys } from './token/signing-keys.ts';

/** Requests in flight get this long to end, once no new ones are accepted. */
const CLOSE_DELAY_MS = 10_000;

try {
  const config = readConfig(process.env);
  const logger = createLogger('query', config.logLevel, undefined, config.logFormat);
  for (const line of nearMisses(process.env)) logger.warn(line);
  const { shutdownDelayMs } = config.query;
  let isListening = false;
  let isStopping = false;
  let hasFailed = false;
  let wasHealthy = false;
  const closing: (() => Promise<void>)[] = [];
  // From the start on: as the first process of a container it would not hear the signal otherwise.
  closeWithGrace({ delay: shutdownDelayMs + CLOSE_DELAY_MS, logger }, async ({ err, signal }) => {
    isStopping = true;
    hasFailed = err !== undefined;
    if (err) logger.fatal({ err }, 'the query service failed');
    else logger.info({ signal }, 'query service stops');
    for (const close of closing) await close();
  });
  const signingKeys = await watchSigningKeys(config.tokens, logger);
  closing.push(async () => signingKeys.stop());
  const tracing = await startTracing(config, 'query', logger);
  const app = await buildApp({ config, logger, signingKeys, tracing });
  closing.push(async () => {
    app.endConnections();
    // Whoever sends requests here learns from `/ready` that they belong elsewhere, before none is accepted.
    if (isListening && !hasFailed) await sleep(shutdownDelayMs);
    await app.close();
  });
  measureSigningKeys(app.metrics.registry, signingKeys);
  const operations = await startOperations({
    ...config.operations,
    live: () => true,
    ready: async () => {
      // A new release takes no traffic before it can answer; the one before it does meanwhile.
      if (!isListening || isStopping || app.generations.isForeign()) return false;
      // A server that is away later is away for every instance.
      return (wasHealthy ||= await app.isHealthy());
    },
    registry: app.metrics.registry,
    logger,
  });
  closing.push(operations.close);
  closing.push(async () => tracing?.stop());
  const address = await app.listen({ host: config.query.host, port: config.query.port });
  const url = config.query.tls.certFile === null ? address : address.replace(/^http:/, 'https:');
  isListening = true;
  logger.info(
    { url, operations: operations.url, environments: config.environments },
    'query service started',
  );
} catch (error) {
  const message = error instanceof StoreDataError ? error.message : describeError(error);
  process.stderr.write(`query: ${message}\n`);
  process.exit(1);
}
