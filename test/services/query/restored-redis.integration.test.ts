/** Redis restarts with older data: revoked rights stay revoked from the first request on. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { useMade } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { DEFAULT_TIMEOUTS } from '#test/patience.ts';
import { type RunningApp, startAppWith, startQueryService, sumOf } from '#test/query-service.ts';
import { startRedisProcess } from '#test/redis-process.ts';
import { startMongodbProxy, startRedisProxy } from '#test/server-proxies.ts';
import { runCommand, runJson } from '../admin/run-command.ts';
import {
  expectNoneAdmitted,
  FINAL_STATUS,
  createKeys,
  haveChecked,
  requestRepeatedly,
  areRevoked,
  statusOf as statusOfToken,
  revokeRights,
  type Tokens,
} from './revoked-rights.ts';

const own = useMade(startRedisProcess);
const proxy = useMade(() => startRedisProxy(own.url));
const service = useMade(() =>
  startQueryService({ settings: { ...DEFAULT_TIMEOUTS, REDIS_URL: own.url } }),
);
const mongodbProxy = useMade(() => startMongodbProxy(service.installation.mongodb));
/** A second instance, which reaches Redis and MongoDB through proxies. */
const other = useMade(() => {
  const proxied = { REDIS_URL: proxy.url, MONGODB_URI: mongodbProxy.uri };
  return startAppWith(service.installation, proxied);
});
/** A snapshot from before the revocations. */
let snapshot: Buffer;
let tokens: Tokens = {};

beforeAll(async () => {
  const { config, environment, env, redis } = service.installation;
  redis.on('error', () => undefined);
  tokens = await createKeys(service, [service]);
  // So that Redis has had both states of the blocking.
  await runJson(env, ['stores', 'unblock', 'blocked', '-e', environment]);
  snapshot = await own.snapshot();
  await revokeRights(service, tokens);
  // A session newer than the last check would be ended together with the restored ones.
  await haveChecked(own.client, config.namePrefix);
});

const statusOf = (instance: RunningApp, name: string) => statusOfToken(instance, tokens[name]);
const both = [service, other];
const allAreRight = () =>
  eventually('all is right at every instance', () => areRevoked(both, tokens));

describe('an old snapshot', () => {
  afterEach(() => proxy.restore());

  it('restores no right at any instance while no projector runs', async () => {
    for (let round = 0; round < 2; round += 1) {
      const stop = requestRepeatedly(both, tokens);
      await own.kill();
      await own.start(snapshot);
      await allAreRight();
      const seen = await stop();
      expectNoneAdmitted(seen);
      expect(seen['untouched']).toContain(503);
    }
  });

  it('opens no gate of an instance without MongoDB, even after others have reconciled', async () => {
    mongodbProxy.freeze();
    try {
      await own.kill();
      await own.start(snapshot);
      await eventually('requests pass elsewhere', () => areRevoked([service], tokens));
      for (const name of Object.keys(FINAL_STATUS))
        expect(await statusOf(other, name), name).toBe(503);
    } finally {
      await mongodbProxy.restore();
    }
    await allAreRight();
  });

  it('is detected within moments if the process stays the same', async () => {
    await using old = await startRedisProcess();
    await old.kill();
    await old.start(snapshot);
    const { redis } = service.installation;
    await own.client.replicaof('127.0.0.1', String(old.port));
    await eventually('the old snapshot has come over', async () => {
      const member = await redis
        .zrange(service.inRedis('s1').grant('revoked'), '0', '-1')
        .catch(() => []);
      return member[0]?.startsWith('active') === true;
    });
    await own.client.replicaof('NO', 'ONE');
    await allAreRight();
  });
});

it('an emptied Redis has no sessions, and gets grants from MongoDB', async () => {
  const { api, installation } = service;
  const reconciled = () => sumOf(both, 'store_data_redis_reconciliation_seconds_count');
  const before = await reconciled();
  await own.client.flushall();
  // Within a second each gate detects the empty Redis, and stays closed until it has reconciled.
  await eventually('Redis is reconciled', async () => (await reconciled()) >= before + 2);
  // Tokens from an instance that has not yet noticed are revoked.
  await haveChecked(own.client, installation.config.namePrefix);
  await eventually(
    'the session is gone',
    async () => (await statusOf(service, 'untouched')) === 401,
  );
  tokens['untouched'] = await api.token('untouched', 'secret');
  tokens['narrowed'] = await api.token('narrowed', 'secret');
  await allAreRight();
});

it('changes that could not reach Redis take effect before its gate opens again, without a projector', async () => {
  const { installation, api } = service;
  const { env } = installation;
  await service.startProjector();
  await service.setKey({ clientId: 'later' });
  await service.setKey({ clientId: 'later-2' });
  await service.stopProjector();
  const names = ['later', 'later-2', 'session'];
  tokens['later'] = await api.token('later', 'secret');
  tokens['later-2'] = await api.token('later-2', 'secret');
  tokens['session'] = await api.token('untouched', 'secret');
  for (const name of names) expect(await statusOf(other, name)).toBe(200);

  // The server stays the same: only the marks show the changes.
  await proxy.cut();
  const away = { ...env, REDIS_URL: `redis://127.0.0.1:${proxy.port}` };
  const commands = ['keys revoke later', 'keys deactivate later-2', 'sessions revoke --token'];
  const input = tokens['session'] ?? '';
  for (const { code, stderr } of await Promise.all(
    commands.map((command) => runCommand(away, command, { input })),
  )) {
    expect(code).toBe(1);
    expect(stderr).toMatch(/in MongoDB and stays, but: Redis cannot be reached at /);
  }
  const stop = requestRepeatedly([other], tokens);
  await proxy.restore();
  await eventually('requests pass', async () => (await statusOf(other, 'untouched')) === 200);
  const seen = await stop();
  for (const name of names) {
    expect(await statusOf(other, name), name).toBe(401);
    expect(seen[name], name).toEqual(new Set([401, 503]));
  }
});
