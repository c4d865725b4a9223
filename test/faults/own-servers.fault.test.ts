import { beforeAll, describe, expect, it } from 'vitest';
import { useMade } from '#test/hooks.ts';
import { eventually } from '#test/installation.ts';
import { order, startOwnServers } from '#test/own-servers.ts';
import { caughtUp } from '#test/read-models.ts';
import { runJson } from '../services/admin/run-command.ts';
import { note } from './results.ts';

/** From the restart of a server. */
const BOUND_MS = 60_000;

describe('the separate servers of one environment', () => {
  // Time in which services notice an unreachable server.
  const servers = useMade(() => startOwnServers({ MONGODB_READ_TIMEOUT_MS: '2000' }));
  beforeAll(async () => {
    await servers.service.apply([order('o1')], servers.common);
    await servers.service.apply([order('o1')], servers.own);
    await servers.answers(servers.own, ['o1']);
  });

  /** Waits until all orders of the environment are answered, and notes the time. */
  async function recovers(fault: string, began: number, ids: string[]): Promise<void> {
    await caughtUp(servers.service.installation, servers.own);
    await servers.answers(servers.own, ids);
    const tookMs = performance.now() - began;
    note({ fault, recoveriesMs: [tookMs], boundMs: BOUND_MS, events: 1 });
    expect(tookMs).toBeLessThan(BOUND_MS);
  }

  it('without its MongoDB the environment is refused, others are served, and revocations take effect', async () => {
    const { service, mongodb, common, own, ask, answers, publish, enter } = servers;
    const { installation, app, api } = service;
    const [server] = mongodb.servers;
    await server?.kill();
    await eventually('it is known', async () => {
      const { values } = await app.services.metrics.mongodbAway.get();
      return values.some(({ labels, value }) => labels.environment === own && value === 1);
    });
    expect((await ask(own)).status).toBe(503);
    await answers(common, ['o1']);
    await eventually('the service is well', async () => (await api.call('/health')).status === 200);
    await publish('o2');

    // A service that starts now serves the others, too.
    await service.stopProjector();
    await service.startProjector();
    await service.apply([order('o2')], common);
    await answers(common, ['o1', 'o2']);
    const block = ['stores', 'block', 's3', '--environment', own];
    expect(await runJson(installation.env, block)).toMatchObject({ blocked: true, live: true });
    await service.setKey({ clientId: `of-${own}`, environment: own, status: 'revoked' });
    expect((await ask(own)).status).toBe(401);

    const began = performance.now();
    await server?.start();
    await enter(own, 'another');
    await recovers('the MongoDB of one environment is killed', began, ['o1', 'o2']);
  });

  it('without its Kafka its answers stay the same, and events of others are applied', async () => {
    const { service, kafka, common, own, answers, publish } = servers;
    const [server] = kafka.servers;
    await server?.kill();
    await service.apply([order('o3')], common);
    await answers(common, ['o1', 'o2', 'o3']);
    await answers(own, ['o1', 'o2']);
    await service.stopProjector();
    await service.startProjector();
    await service.apply([order('o4')], common);
    await answers(common, ['o1', 'o2', 'o3', 'o4']);

    const began = performance.now();
    await server?.start();
    await eventually('it takes messages', () =>
      publish('o3').then(
        () => true,
        () => false,
      ),
    );
    await recovers('the Kafka of one environment is killed', began, ['o1', 'o2', 'o3']);
  });
});
