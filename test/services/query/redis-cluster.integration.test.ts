/** Redis as a cluster: all decisions work, and a killed master affects only its own stores. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { nodeFor, type RedisMasters } from '#shared/redis-masters.ts';
import { createRedis } from '#shared/redis.ts';
import { readConfig } from '#shared/config.ts';
import { useMade } from '#test/hooks.ts';
import { times } from '#test/times.ts';
import { eventually } from '#test/eventually.ts';
import { type RunningApp, startApp, startQueryService } from '#test/query-service.ts';
import { type ClusterShard, startRedisCluster } from '#test/redis-cluster.ts';
import { cutReplication } from '#test/redis-sentinels.ts';
import { runJson } from '../admin/run-command.ts';
import {
  expectNoneAdmitted,
  createKeys,
  requestRepeatedly,
  areRevoked,
  statusOf,
  revokeRights,
  type Tokens,
} from './revoked-rights.ts';

const redis = useMade(startRedisCluster);
const service = useMade(() =>
  startQueryService({
    settings: { REDIS_URL: redis.url, AUTH_FAILURES_PER_CLIENT_AND_ADDRESS: '3' },
  }),
);
const instances: RunningApp[] = [service, useMade(() => startApp(service.installation.config))];

/** A name whose Redis key is on a shard. */
function nameOn(shard: number, keyOf: (name: string) => string) {
  for (let number = 0; ; number += 1) {
    const name = `on-${shard}-${number}`;
    if (redis.shards[shard]?.holds(keyOf(name))) return name;
  }
}

const storeOn = (shard: number) => nameOn(shard, (name) => service.inRedis(name).storeAccess);

const statuses = (token?: string) =>
  Promise.all(instances.map((instance) => statusOf(instance, token)));

/** Tokens for stores of the shards with a running master, by shard. */
const others: Tokens = {};

/** Connects like a service; `url` puts other nodes first. */
async function connected(work: (masters: RedisMasters) => Promise<void>, url = redis.url) {
  const config = readConfig({ ...service.installation.env, REDIS_URL: url });
  const masters = createRedis(config, { away: () => undefined });
  try {
    await masters.ready(30_000);
    await work(masters);
  } finally {
    masters.disconnect();
  }
}

it('a node that loads its data does not block the others', async () => {
  const info = 'loading:1\r\nloading_eta_seconds:600';
  const answers = new Map([
    ['info', `$${info.length}\r\n${info}`],
    ['client', '+OK'],
    ['hello', '+OK'],
  ]);
  const loading = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      for (const [, name = ''] of chunk.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g))
        socket.write(`${answers.get(name.toLowerCase()) ?? '-LOADING'}\r\n`);
    });
  });
  await once(loading.listen(0, '127.0.0.1'), 'listening');
  const { port } = loading.address() as AddressInfo;
  try {
    await connected(
      async (masters) => expect(masters.isWhole()).toBe(true),
      redis.url.replace('//', `//127.0.0.1:${port},`),
    );
  } finally {
    loading.close();
  }
});

it('every command in a pipeline follows a moved slot', async () => {
  await connected(async (masters) => {
    const [own = '', others = ''] = [0, 1].map((shard) => nameOn(shard, (name) => name));
    const holder = nodeFor(masters, own);
    let moved = 0;
    holder.on('moved', () => (moved += 1));
    await Promise.allSettled([holder.get(others), holder.get(own)]);
    expect(moved).toBe(1);
  });
});

it('issues and revokes tokens on any shards of client and store', async () => {
  for (const [client, store] of [
    [0, 0],
    [1, 2],
    [2, 1],
  ] as const) {
    const clientId = `client-${client}`;
    const storeId = storeOn(store);
    const token = await service.tokenOf({ clientId, storeId });
    expect([client, store, await statuses(token)]).toEqual([client, store, [200, 200]]);
    expect((await service.api.askToken(clientId, 'wrong')).status).toBe(401);
    await service.setKey({ clientId, storeId, status: 'revoked' });
    expect([client, store, await statuses(token)]).toEqual([client, store, [401, 401]]);
    expect((await service.api.askToken(clientId, 'secret')).status).toBe(401);
  }
});

it('counts a store’s requests over all instances, and a client’s failures', async () => {
  const { environment, env } = service.installation;
  const [storeId, clientId] = ['limited', 'counted'];
  const ofStore = ['-s', storeId, '-e', environment];
  await service.setKey({ clientId, storeId });
  await runJson(env, ['quota', 'set', ...ofStore, '--requests', '5']);
  const token = await service.api.token(clientId, 'secret');
  const answers: number[] = [];
  for (let request = 0; request < 5; request += 1) answers.push(...(await statuses(token)));
  expect(answers.toSorted((a, b) => a - b)).toEqual(times(10, (index) => (index < 5 ? 200 : 429)));
  await runJson(env, ['quota', 'reset', ...ofStore]);
  expect(await runJson(env, ['sessions', 'list', ...ofStore])).toMatchObject([
    { client_id: clientId },
  ]);

  for (let failure = 0; failure < 3; failure += 1) {
    expect((await service.api.askToken(clientId, 'wrong')).status).toBe(401);
  }
  for (const { api } of instances)
    expect((await api.askToken(clientId, 'secret')).status).toBe(429);
});

it('a killed master affects only its own stores, and its replica restores no revoked right', async () => {
  const { config } = service.installation;
  const { storeAccess } = service.inRedis('s1');
  const dying = redis.shards.find(({ holds }) => holds(storeAccess)) as ClusterShard;
  const { master, replica } = dying;
  for (const [shard, each] of redis.shards.entries()) {
    if (each === dying) continue;
    others[shard] = await service.tokenOf({ clientId: `other-${shard}`, storeId: storeOn(shard) });
  }
  const tokens = await createKeys(service, instances);
  await cutReplication(master, replica);
  await revokeRights(service, tokens);
  await eventually('all is right', () => areRevoked(instances, tokens));

  const stop = requestRepeatedly(instances, { ...tokens, ...others });
  await master.kill();
  await eventually('requests fail', async () =>
    (await statuses(tokens['untouched'])).includes(503),
  );
  // An instance that starts now serves the other stores.
  const late = await startApp(config);
  for (const token of Object.values(others)) {
    await eventually('it serves the others', async () => (await statusOf(late, token)) === 200);
  }
  await eventually('requests pass again', () => areRevoked([...instances, late], tokens));
  await late.app.close();
  const seen = await stop();
  expectNoneAdmitted(seen);
  expect(seen['untouched']).toEqual(new Set([200, 503]));
  for (const name of Object.keys(others)) expect(seen[name], name).toEqual(new Set([200]));
});

it('a failover interrupts the master’s stores for moments, and no others', async () => {
  const [moving = '', staying = ''] = Object.keys(others);
  const { replica } = redis.shards[Number(moving)] as ClusterShard;
  const stop = requestRepeatedly(instances, others);
  await replica.client.cluster('FAILOVER');
  await eventually('it has taken over', async () => (await replica.client.role())[0] === 'master');
  await eventually('it is used', async () => {
    const masters = instances.flatMap(({ app }) => app.services.redis.all());
    return masters.filter(({ redis: { options } }) => options.port === replica.port).length === 2;
  });
  await eventually('requests pass again', async () => {
    return (await statuses(others[moving])).every((status) => status === 200);
  });
  const seen = await stop();
  for (const status of seen[moving] ?? []) expect([200, 503]).toContain(status);
  expect(seen[staying]).toEqual(new Set([200]));
});
