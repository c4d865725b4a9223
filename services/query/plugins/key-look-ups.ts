/** The look-ups of keys that all token requests share. */
import plugin from 'fastify-plugin';
import { createKeyLookUps } from '../token/client.ts';

export default plugin(
  async (app) => {
    app.decorate('keyLookUps', createKeyLookUps(app.control, app.bounded));
  },
  { name: 'key-look-ups', dependencies: ['mongodb'] },
);
