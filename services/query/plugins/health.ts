/** Whether requests can be served, for clients and for those who send clients here. */
import plugin from 'fastify-plugin';
import { healthCheck } from '../health.ts';

export default plugin(
  async (app) => {
    const isHealthy = healthCheck(app);
    let wasHealthy = false;
    app.decorate('isHealthy', isHealthy);
    app.decorate('wasHealthy', async () => (wasHealthy ||= await isHealthy()));
  },
  { name: 'health', dependencies: ['mongodb', 'redis', 'redis-gate'] },
);
