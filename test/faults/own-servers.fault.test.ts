import { beforeAll, describe, expect, it } from 'vitest';
import { useMade } from '#test/hooks.ts';
import { eventually } from '#test/installation.ts';
import { order, startOwnServers } from '#test/own-servers.ts';
import { caughtUp } from '#test/read-models.ts';
import { runJson } from '../services/admin/run-command.ts';
import { note } from './results.ts';

/** From the moment at which a server is started again. */
const BOUND_MS = 60_000;

describe('the servers of one environment alone', () => {
  // One that is away is known to be in this time.
  const servers = useMade(() => startOwnServers({ MONGODB_READ_TIMEOUT_MS: '2000' }));
  beforeAll(async () => {
    await servers.service.apply([order('o1')], servers.common);
    await servers.service.apply([order('o1')], servers.own);
    await servers.answers(servers.own, ['o1']);
  });

  /** Waits until everything of the environment is answered, and notes how long that took. */
  async function recovers(fault: string, began: number, ids: string[]): Promise<void> {
    await caughtUp(servers.service.installation, servers.own);
    await servers.answers(servers.own, ids);
    const tookMs = performance.now() - began;
    note({ fault, recoveriesMs: [tookMs], boundMs: BOUND_MS, events: 1 });
    expect(tookMs).toBeLessThan(BOUND_MS);
  }

  it('away: without its MongoDB it is refused, the others are served, and what takes rights away counts', async () => {
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

    // One that begins now serves the others too.
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

  it('away: without its Kafka its answers stay what they are, and others are applied', async () => {
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
