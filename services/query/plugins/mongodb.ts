/** The MongoDB clients for reading, whose operations all end in time; each is known to be away by itself. */
import plugin from 'fastify-plugin';
import type { MongoClient } from 'mongodb';
import { controlCollections } from '#shared/access/access-keys.ts';
import { describeError } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import { createReaderClient } from '#shared/mongodb.ts';
import { watchPool } from '#shared/mongodb-pool.ts';
import { pause } from '#shared/pause.ts';
import { Databases } from '#shared/read-models/databases.ts';
import { soon } from '../at-start.ts';
import { boundedBy, boundedUntil } from '../deadline.ts';
import { MongodbCircuit } from '../mongodb-circuit.ts';

const RECONNECT_MS = 500;

export default plugin(
  async (app) => {
    const { config, metrics, logger } = app;
    const { readTimeoutMs } = config.mongodb;
    const bounded = boundedBy(readTimeoutMs);
    const databases = Databases.of(config, (one) => createReaderClient(one, 'query'));
    const circuitOf = (client: MongoClient, labels: { environment?: string }) => {
      watchPool(client, metrics.pool);
      return new MongodbCircuit(client, bounded, metrics.mongodbAway.labels(labels), logger.child(labels));
    };
    const common = circuitOf(databases.common, {});
    const own = new Map(
      [...databases.own].map(([environment, client]) => [environment, circuitOf(client, { environment })]),
    );
    const circuitIn = (environment: string | null) => own.get(environment ?? '') ?? common;
    app.decorate('databases', databases);
    app.decorate('boundedIn', (environment) => circuitIn(environment).guard(bounded));
    app.decorate('deadlineOf', ({ elapsedTime }, environment) =>
      circuitIn(environment).guard(boundedUntil(performance.now() - elapsedTime + readTimeoutMs)),
    );
    app.decorate('control', controlCollections(databases.control));
    const closed = new AbortController();
    app.addHook('onClose', async () => {
      closed.abort();
      await Promise.all([databases.close(), ...[common, ...own.values()].map((circuit) => circuit.stop())]);
    });
    // A service that starts during an outage answers 503 until it is over.
    await soon(Promise.all(databases.clients.map((client) => connect(client, logger, closed.signal))));
  },
  { name: 'mongodb' },
);

/**
 * Connects for as long as it takes. A client whose first connection failed answers "Topology is closed" for ever, unless it is told to
 * connect again; once connected it finds its way back by itself.
 */
async function connect(client: MongoClient, logger: Logger, signal: AbortSignal): Promise<void> {
  let isAway = false;
  do {
    try {
      await client.connect();
      // It may have been closed meanwhile.
      if (signal.aborted) await client.close();
      else if (isAway) logger.info('MongoDB is back');
      return;
    } catch (error) {
      if (!isAway) logger.warn({ error: describeError(error) }, 'MongoDB cannot be reached');
      isAway = true;
    }
  } while (await pause(RECONNECT_MS, signal));
}
