/** Whether the servers behind the service answer, for clients and for those who send clients here. */
import plugin from 'fastify-plugin';

export default plugin(
  async (app) => {
    const { mongodb, redis, redisGate, bounded } = app;
    let running: Promise<boolean> | null = null;
    const check = async () => {
      const answers = await Promise.allSettled([
        bounded((signal) => mongodb.db('admin').command({ ping: 1 }, { signal })),
        redis.ping(),
      ]);
      running = null;
      return redisGate.isOpen && answers.every(({ status }) => status === 'fulfilled');
    };
    // Those who ask while one is running share its answer, so that asking often costs nothing.
    app.decorate('isHealthy', () => (running ??= check()));
  },
  { name: 'health', dependencies: ['redis'] },
);
