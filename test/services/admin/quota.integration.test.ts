import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setQuota } from '#admin/commands/quota.ts';
import { Servers } from '#admin/servers.ts';
import { applyStoreStatus, controlCollections } from '#shared/access/access-keys.ts';
import type { OwnQuota } from '#shared/events/access-event.ts';
import { redisKeys } from '#shared/access/grants.ts';
import { controlDatabase } from '#shared/read-models/generation.ts';
import { useMade, useQueryService } from '#test/hooks.ts';
import { startApp } from '#test/query-service.ts';
import { expectRefused, runCommand, runJson } from './run-command.ts';

const service = useQueryService({ environments: 2 });
const others = [1, 2].map(() => useMade(() => startApp(service.installation.config)));
let servers: Servers;

beforeAll(() => {
  servers = new Servers({ config: service.installation.config, origin: 'the test' });
});
afterAll(() => servers.close());

const environment = () => service.installation.environment;
const command = (words: string) => runCommand(service.installation.env, `quota ${words}`);
const json = <T>(words: string) => runJson<T>(service.installation.env, `quota ${words}`);
/** `quota set` in this process, which is faster. */
const set = (store: string, quota: OwnQuota, name = environment()) =>
  setQuota(servers, name, store, quota);
const stores = () =>
  controlCollections(
    controlDatabase(service.installation.mongodb, service.installation.config.namePrefix),
  ).stores;
const keysOf = (store: string) =>
  redisKeys(service.installation.config.namePrefix, environment(), store);

async function tokenFor(store: string): Promise<string> {
  await service.setKey({ clientId: `of-${store}`, storeId: store });
  return service.api.token(`of-${store}`, 'secret');
}

/** The quota headers of one request to each instance, in order. */
async function told(
  token: string,
): Promise<[status: number, policy: string | null, state: string | null][]> {
  const answers = [];
  for (const { api } of [service, ...others]) answers.push(await api.get('/api/order/list', token));
  return answers.map(({ status, headers }) => [
    status,
    headers.get('ratelimit-policy'),
    headers.get('ratelimit')?.replace(/;t=\d+/, '') ?? null,
  ]);
}

describe('quota set', () => {
  it('applies to the next request of every instance, and keeps the present count', async () => {
    const token = await tokenFor('small');
    expect((await told(token)).map(([status]) => status)).toEqual([200, 200, 200]);
    await json(`set -e ${environment()} -s small --requests 5`);
    const policy = '"store";q=5;w=60';
    expect(await told(token)).toEqual([
      [200, policy, '"store";r=1'],
      [200, policy, '"store";r=0'],
      [429, policy, '"store";r=0'],
    ]);
    await set('small', { requests: 8 });
    expect((await told(token)).map(([status]) => status)).toEqual([200, 200, 429]);
    // Another window begins at once.
    await set('small', { requests: 2, window_seconds: 3_600 });
    const hourly = '"store";q=2;w=3600';
    expect(await told(token)).toEqual([
      [200, hourly, '"store";r=1'],
      [200, hourly, '"store";r=0'],
      [429, hourly, '"store";r=0'],
    ]);
  });

  it('is loaded from MongoDB if Redis lost it, and never replaced by the configured one', async () => {
    const token = await tokenFor('lost');
    await set('lost', { requests: 50, window_seconds: 30 });
    await told(token);
    await service.installation.redis.del(keysOf('lost').storeAccess);
    expect((await told(token)).map(([, policy]) => policy)).toEqual(
      Array.from({ length: 3 }, () => '"store";q=50;w=30'),
    );
    expect(await service.installation.redis.zrange(keysOf('lost').storeAccess, 0, '-1')).toEqual([
      'active 50 30',
    ]);
  });

  it('does not change the store’s blocking, and a later change of the blocking keeps the quota', async () => {
    const blocked = { storeId: 'both', sequence: 1, status: 'blocked' } as const;
    await applyStoreStatus(stores(), environment(), blocked, 'access');
    await set('both', { requests: 9 });
    expect(await service.installation.redis.zrange(keysOf('both').storeAccess, 0, '-1')).toEqual([
      'blocked 9',
    ]);
    await applyStoreStatus(
      stores(),
      environment(),
      { ...blocked, sequence: 2, status: 'active' },
      'access',
    );
    const active = { access_status: 'active', quota: { requests: 9 } };
    expect(await stores().findOne({ store_id: 'both' })).toMatchObject(active);
  });

  it('does not affect other stores and environments', async () => {
    await service.setKey({ clientId: 'elsewhere', storeId: 'alone', environment: elsewhere() });
    const tokens = [await tokenFor('other'), await service.api.token('elsewhere', 'secret')];
    await set('alone', { requests: 1 });
    const configured = '"store";q=1000000;w=60';
    for (const token of tokens) {
      expect((await told(token)).map(([, policy]) => policy)).toEqual([
        configured,
        configured,
        configured,
      ]);
    }
  });
});

const elsewhere = () => service.installation.config.environments[1] ?? '';

describe('quota reset', () => {
  it('restores the configured quota immediately', async () => {
    const token = await tokenFor('back');
    await set('back', { requests: 1 });
    expect((await told(token)).map(([status]) => status)).toEqual([200, 429, 429]);
    const { code, stdout } = await command(`reset -e ${environment()} -s back`);
    const text = `store_id     back\nenvironment  ${environment()}\nquota        as configured\nchanged      true\n`;
    expect([code, stdout]).toEqual([0, text]);
    expect((await told(token)).map(([status]) => status)).toEqual([200, 200, 200]);
    const again = await command(`reset -e ${environment()} -s back`);
    expect(again.stderr).toContain('note: it was as configured already');
  });
});

it('`quota set` refuses an unknown environment, and writes nothing if Redis is unreachable', async () => {
  await expectRefused(command('set -e nowhere -s s1 --requests 1'), 'configured: ', 2);
  const env = { ...service.installation.env, REDIS_URL: 'redis://127.0.0.1:1' };
  const setting = runCommand(env, `quota set -e ${environment()} -s away --requests 1`);
  await expectRefused(setting, 'Redis cannot be reached');
  expect(await stores().findOne({ store_id: 'away' })).toBeNull();
});

it('a quota at the last sequence stays, and the command says why', async () => {
  const { environment: name, env } = service.installation;
  await set('last', { requests: 5 });
  const last = { store_id: 'last' };
  await stores().updateOne(last, { $set: { quota_sequence: Number.MAX_SAFE_INTEGER } });
  const refused = runCommand(env, `quota set -s last -e ${name} --requests 6`);
  await expectRefused(
    refused,
    `the quota of store last in ${name} has the last possible sequence: it stays as it is`,
  );
  expect((await stores().findOne(last))?.quota).toEqual({ requests: 5 });
});
