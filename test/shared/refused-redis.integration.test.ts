/**
 * A Redis that refuses a service's password: a wrong setting, not an outage. The service reports it
 * and is not ready.
 */
import { expect, it } from 'vitest';
import { eventually } from '#test/eventually.ts';
import { createInstallation } from '#test/installation.ts';
import { startRedisProcess } from '#test/redis-process.ts';
import { startService } from '#test/service-process.ts';

const PASSWORD = 'not-the-right-one';

it.each(['projector', 'query'] as const)(
  'the %s reports a Redis that refuses its password, and is ready once the password works; it stays ready while Redis is unreachable',
  async (name) => {
    const installation = await createInstallation();
    const redis = await startRedisProcess();
    await redis.client.call('ACL', 'SETUSER', 'default', 'resetpass', '>the-right-one');
    const service = startService(name, {
      ...installation.env,
      REDIS_URL: redis.url,
      REDIS_PASSWORD: PASSWORD,
    });
    try {
      const { msg } = await service.logged(({ level }) => level === 50);
      expect(msg).toMatch(
        /^configuration error: Redis refuses this process: .*WRONGPASS.*REDIS_PASSWORD/,
      );
      await service.logged((line) => line.msg?.endsWith(' started') === true);
      const { url } = await service.logged((line) => line.msg === 'operations server listens');
      const ready = () => fetch(`${String(url)}/ready`);
      const refused = await ready();
      expect([refused.status, await refused.json()]).toEqual([
        503,
        { status: 'unavailable', reason: expect.stringMatching(/WRONGPASS.*REDIS_PASSWORD/) },
      ]);
      expect((await fetch(`${String(url)}/live`)).status).toBe(200);

      await redis.client.call('ACL', 'SETUSER', 'default', 'resetpass', `>${PASSWORD}`);
      await service.logged((line) => line.msg === 'Redis is back');
      await eventually('it is ready', async () => (await ready()).status === 200);
      await redis.kill();
      await service.logged((line) => line.msg === 'Redis cannot be reached: it is tried again');
      expect((await ready()).status).toBe(200);
      expect(JSON.stringify(service.lines)).not.toContain(PASSWORD);
    } finally {
      service.kill('SIGKILL');
      await service.ended;
      await redis.close();
      await installation.close();
    }
  },
);
