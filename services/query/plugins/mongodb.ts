/** The MongoDB client for reading, whose operations all end in time. */
import type { FastifyReply } from 'fastify';
import plugin from 'fastify-plugin';
import { controlCollections } from '#shared/access/access-keys.ts';
import { createReaderClient } from '#shared/mongodb.ts';
import { watchPool } from '#shared/mongodb-pool.ts';
import { controlDatabase } from '#shared/read-models/generation.ts';
import { soon } from '../at-start.ts';
import { keepConnecting } from '../connect.ts';
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
    await soon(keepConnecting(client, app.logger, RECONNECT_MS, closed.signal));
  },
  { name: 'mongodb' },
);
