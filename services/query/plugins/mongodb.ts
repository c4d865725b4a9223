/** The MongoDB client for reading, whose operations all end in time. */
import type { FastifyReply } from 'fastify';
import plugin from 'fastify-plugin';
import type { MongoClient } from 'mongodb';
import { controlCollections } from '#shared/access/access-keys.ts';
import { describeError } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import { createReaderClient } from '#shared/mongodb.ts';
import { watchPool } from '#shared/mongodb-pool.ts';
import { pause } from '#shared/pause.ts';
import { controlDatabase } from '#shared/read-models/generation.ts';
import { soon } from '../at-start.ts';
import { boundedBy, boundedUntil } from '../deadline.ts';
import { MongodbCircuit } from '../mongodb-circuit.ts';

const RECONNECT_MS = 500;

export default plugin(
  async (app) => {
    const client = createReaderClient(app.config, 'query');
    watchPool(client, app.metrics.pool);
    app.decorate('mongodb', client);
    const { readTimeoutMs } = app.config.mongodb;
    const bounded = boundedBy(readTimeoutMs);
    const circuit = new MongodbCircuit(client, bounded, app.metrics.mongodbAway, app.logger);
    app.decorate('bounded', circuit.guard(bounded));
    app.decorate('deadlineOf', ({ elapsedTime }: FastifyReply) =>
      circuit.guard(boundedUntil(performance.now() - elapsedTime + readTimeoutMs)),
    );
    app.decorate('control', controlCollections(controlDatabase(client, app.config.namePrefix)));
    const closed = new AbortController();
    app.addHook('onClose', async () => {
      closed.abort();
      await Promise.all([client.close(), circuit.stop()]);
    });
    // A service that starts during an outage answers 503 until it is over.
    await soon(connect(client, app.logger, closed.signal));
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
