/** What all token requests share: the look-ups of keys, the clients that are known from former ones, MongoDB's pulse. */
import plugin from 'fastify-plugin';
import { controlDatabase } from '#shared/read-models/generation.ts';
import { createKeyLookUps } from '../token/client.ts';
import { KnownClients } from '../token/known-clients.ts';
import { MongodbPulse } from '../token/mongodb-pulse.ts';

export default plugin(
  async (app) => {
    const { mongodb, control, bounded, config } = app;
    app.decorate('keyLookUps', createKeyLookUps(control, bounded));
    app.decorate('knownClients', new KnownClients(config.namePrefix));
    app.decorate('mongodbPulse', new MongodbPulse(controlDatabase(mongodb, config.namePrefix), bounded));
  },
  { name: 'key-look-ups', dependencies: ['mongodb'] },
);
