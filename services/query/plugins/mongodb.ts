/** The MongoDB client for reading, whose operations all end in time. */
import plugin from 'fastify-plugin';
import { controlCollections } from '#shared/access/access-keys.ts';
import { describeError } from '#shared/errors.ts';
import { createReaderClient } from '#shared/mongodb.ts';
import { controlDatabase } from '#shared/read-models/generation.ts';

import { boundedBy } from '../deadline.ts';

export default plugin(
  async (app) => {
    const client = createReaderClient(app.config, 'query');
    app.decorate('mongodb', client);
    app.decorate('bounded', boundedBy(app.config.mongodb.readTimeoutMs));
    app.decorate('control', controlCollections(controlDatabase(client, app.config.namePrefix)));
    app.addHook('onClose', () => client.close());
    // A service that starts during an outage answers 503 until it is over.
    await client.connect().catch((error: unknown) => {
      app.log.warn({ error: describeError(error) }, 'MongoDB cannot be reached');
    });
  },
  { name: 'mongodb' },
);
