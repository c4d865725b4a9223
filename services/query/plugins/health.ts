/** Whether the servers behind the service answer, for clients and for those who send clients here. */
import plugin from 'fastify-plugin';

export default plugin(
  async (app) => {
    const { databases, redisGates, boundedIn, config } = app;
    // Of several servers one that answers is enough: whoever is sent elsewhere would be answered no better there.
    const answering = new Map(
      config.environments.map((environment) => [databases.clientOf(environment), boundedIn(environment)]),
    );
    let running: Promise<boolean> | null = null;
    const check = async () => {
      const [isRedisThere, isMongodbThere] = await Promise.all([
        redisGates.isAnyAnswering(),
        Promise.any(
          [...answering].map(([client, bounded]) =>
            bounded((signal) => client.db('admin').command({ ping: 1 }, { signal })),
          ),
        ).then(
          () => true,
          () => false,
        ),
      ]);
      running = null;
      return isRedisThere && isMongodbThere;
    };
    // Those who ask while one is running share its answer, so that asking often costs nothing.
    app.decorate('isHealthy', () => (running ??= check()));
  },
  { name: 'health', dependencies: ['redis'] },
);
