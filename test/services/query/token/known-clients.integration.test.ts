/** Tokens are issued from copies of keys: whatever changes, the next request at every instance sees it. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { redisKeys } from '#shared/access/redis-keys.ts';
import type { Config } from '#shared/config.ts';
import type { Answer } from '#test/api-client.ts';
import { eventually } from '#test/installation.ts';
import { quickOnce } from '#test/patience.ts';
import { type QueryService, type RunningApp, startApp, startQueryService } from '#test/query-service.ts';
import { startTcpProxy, type TcpProxy } from '#test/tcp-proxy.ts';
import { runJson } from '../../admin/run-command.ts';

let service: QueryService;
/** Two of them, with copies of their own. */
let instances: RunningApp[];
let storeIds = 0;

beforeAll(async () => {
  service = await startQueryService();
  instances = [service, await startApp(service.installation.config)];
});
afterAll(async () => {
  for (const { app } of instances?.slice(1) ?? []) await app.close();
  await service?.close();
});

type Outcome = [status: number, errorOrScope: string | undefined];

function outcomeOf({ status, json }: Answer): Outcome {
  const { error, scope } = json as { error?: string; scope?: string };
  return [status, error ?? scope];
}

/** What each instance answers. */
async function ask(clientId: string, secret = 'secret', form?: string): Promise<Outcome[]> {
  const answers: Outcome[] = [];
  for (const { api } of instances) answers.push(outcomeOf(await api.askToken(clientId, secret, form)));
  return answers;
}

const both = (...outcome: Outcome): Outcome[] => [outcome, outcome];

/** Counts the keys that are looked up in MongoDB while something is done. */
async function lookUpsDuring(act: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const originals = instances.map(({ app: { keyLookUps } }) => {
    const { key } = keyLookUps;
    keyLookUps.key = (id) => {
      count += 1;
      return key(id);
    };
    return () => {
      keyLookUps.key = key;
    };
  });
  await act().finally(() => {
    for (const restore of originals) restore();
  });
  return count;
}

/** A client of a store of its own that both instances have a copy of. */
async function warm(clientId: string): Promise<string> {
  storeIds += 1;
  const storeId = `store-${storeIds}`;
  await service.setKey({ clientId, storeId });
  await expectWarm(clientId);
  return storeId;
}

async function expectWarm(clientId: string, secret = 'secret'): Promise<void> {
  expect((await ask(clientId, secret)).map(([status]) => status)).toEqual([200, 200]);
  const asked = lookUpsDuring(async () => expect((await ask(clientId, secret))[0]?.[0]).toBe(200));
  expect(await asked).toBe(0);
}

const command = (...args: string[]) => runJson<{ client_secret?: string }>(service.installation.env, args);

describe('a copy', () => {
  it('is used for right secrets only, whatever their spelling', async () => {
    await service.setKey({ clientId: 'i-d', storeId: 'spelled', secrets: ['s~+ %'] });
    const sent = { method: 'POST', body: 'grant_type=client_credentials' };
    for (const credentials of ['i-d:s~+ %', `i%2Dd:${encodeURIComponent('s~+ %')}`]) {
      const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
      const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded' };
      const request = () => service.api.call('/api/auth/token/', { ...sent, headers });
      expect((await request()).status).toBe(200);
      expect(await lookUpsDuring(async () => expect((await request()).status).toBe(200))).toBe(0);
    }
    expect(await lookUpsDuring(() => ask('i-d', 'wrong'))).toBe(2);
    expect(await lookUpsDuring(() => ask('nobody', 'wrong'))).toBe(2);
  });

  it('gives sessions that live', async () => {
    await warm('living');
    for (const { api } of instances) {
      const token = await api.token('living', 'secret');
      for (const other of instances) expect((await other.api.get('/api/order/list', token)).status).toBe(200);
    }
  });

  it('refuses what the key does not allow', async () => {
    await service.setKey({ clientId: 'narrow', storeId: 'narrow', scopes: ['order'] });
    await expectWarm('narrow');
    const form = 'grant_type=client_credentials&scope=';
    expect(await ask('narrow', 'secret', `${form}crm`)).toEqual(both(400, 'invalid_scope'));
    expect(await ask('narrow', 'secret', `${form}+`)).toEqual(both(400, 'invalid_scope'));
    expect(await ask('narrow', 'secret', 'grant_type=password')).toEqual(both(400, 'unsupported_grant_type'));
    expect(await ask('narrow', 'secret', `${form}order`)).toEqual(both(200, 'order'));
  });
});

describe('the very next request after a change sees it, at every instance', () => {
  it('scopes taken and given', async () => {
    await warm('moving');
    await command('keys', 'scopes', 'moving', '--set', 'crm');
    expect(await ask('moving')).toEqual(both(200, 'crm'));
    await expectWarm('moving');
    await command('keys', 'scopes', 'moving', '--set', 'crm,order');
    expect(await ask('moving')).toEqual(both(200, 'crm order'));
  });

  it('a key that is revoked', async () => {
    await warm('revoked');
    await command('keys', 'revoke', 'revoked');
    expect(await ask('revoked')).toEqual(both(401, 'invalid_client'));
  });

  it('a key that is made inactive and active again', async () => {
    await warm('resting');
    await command('keys', 'deactivate', 'resting');
    expect(await ask('resting')).toEqual(both(400, 'unauthorized_client'));
    await command('keys', 'activate', 'resting');
    await expectWarm('resting');
  });

  it('a secret that is rotated, and the old one retired', async () => {
    await warm('rotated');
    const { client_secret: next = '' } = await command('keys', 'rotate-secret', 'rotated');
    await expectWarm('rotated', next);
    await expectWarm('rotated');
    await command('keys', 'rotate-secret', 'rotated', '--retire-old');
    expect(await ask('rotated')).toEqual(both(401, 'invalid_client'));
    await expectWarm('rotated', next);
  });

  it('the deadline of an old secret, though nothing changes then', async () => {
    await warm('ending');
    const ends = Date.now() + 2_000;
    await command('keys', 'rotate-secret', 'ending', '--retire-old-after', '2s');
    if (Date.now() < ends) await ask('ending');
    await eventually('the old secret has ended', async () =>
      (await ask('ending')).every(([status]) => status === 401),
    );
    expect(Date.now()).toBeGreaterThanOrEqual(ends);
  });

  it('a store that is blocked and unblocked', async () => {
    const storeId = await warm('guest');
    const { environment } = service.installation;
    await command('stores', 'block', storeId, '-e', environment);
    expect(await ask('guest')).toEqual(both(400, 'unauthorized_client'));
    await command('stores', 'unblock', storeId, '-e', environment);
    await expectWarm('guest');
  });
});

it('a Redis that has lost a grant makes MongoDB be asked, and gets it back', async () => {
  const storeId = await warm('lost');
  const { redis, config, environment } = service.installation;
  const keys = redisKeys(config.namePrefix, environment, storeId);
  for (const key of [keys.grant('lost'), keys.storeAccess]) {
    const before = await redis.zrange(key, '0', '-1', 'WITHSCORES');
    await redis.del(key);
    expect(await lookUpsDuring(() => service.api.token('lost', 'secret'))).toBe(1);
    expect(await redis.zrange(key, '0', '-1', 'WITHSCORES')).toEqual(before);
  }
  await expectWarm('lost');
});

it('what Redis has otherwise than the copy makes MongoDB be asked', async () => {
  const storeId = await warm('other');
  const { redis, config, environment } = service.installation;
  const grant = redisKeys(config.namePrefix, environment, storeId).grant('other');
  const [member = '', version = ''] = await redis.zrange(grant, '0', '-1', 'WITHSCORES');
  for (const [wrongMember, wrongVersion] of [
    [member, String(Number(version) + 1)],
    ['active order', version],
  ] as const) {
    await redis.multi().del(grant).zadd(grant, wrongVersion, wrongMember).exec();
    expect(await lookUpsDuring(() => service.api.token('other', 'secret'))).toBe(1);
  }
});

describe('failures', () => {
  const limited = (config: Config): Config => ({
    ...config,
    query: {
      ...config.query,
      authFailures: { windowSeconds: 60, perClientAndAddress: 3, perAddress: 1_000, perClient: 1_000 },
    },
  });

  it('at one instance lock out the right secret at another that has a copy', async () => {
    await warm('guessed');
    const one = await startApp(limited(service.installation.config));
    const two = await startApp(limited(service.installation.config));
    try {
      for (const { api } of [one, two]) await api.token('guessed', 'secret');
      for (let guess = 0; guess < 3; guess += 1) {
        expect((await one.api.askToken('guessed', 'wrong')).status).toBe(401);
      }
      for (const { api } of [two, one]) {
        expect(outcomeOf(await api.askToken('guessed', 'secret'))).toEqual([429, 'slow_down']);
      }
    } finally {
      await one.app.close();
      await two.app.close();
    }
  });

  it('are told no earlier than others, whether the client exists or not', async () => {
    await warm('timed');
    for (const [clientId, secret] of [
      ['timed', 'wrong'],
      ['never-seen', 'wrong'],
    ] as const) {
      for (let time = 0; time < 5; time += 1) {
        const began = performance.now();
        expect((await service.api.askToken(clientId, secret)).status).toBe(401);
        // A timer may come a millisecond early.
        expect(performance.now() - began).toBeGreaterThan(9);
      }
    }
  });
});

describe('without MongoDB', () => {
  let proxy: TcpProxy;
  let proxied: RunningApp;
  beforeAll(async () => {
    const { config } = service.installation;
    const { hostname, port } = new URL(config.mongodb.uri);
    proxy = await startTcpProxy({ host: hostname, port: Number(port) });
    const uri = `mongodb://127.0.0.1:${proxy.port}/?directConnection=true`;
    proxied = await startApp({ ...config, mongodb: { ...config.mongodb, uri, readTimeoutMs: 600 } });
  });
  afterEach(() => proxy.restore());
  afterAll(async () => {
    await proxied?.app.close();
    await proxy?.close();
  });

  it.each([
    ['frozen', (mongodb: TcpProxy) => mongodb.freeze()],
    ['gone', (mongodb: TcpProxy) => mongodb.cut()],
  ] as const)('%s, no copy gives a token: 503 within a second', async (how, fail) => {
    await warm(`without-${how}`);
    const { api } = proxied;
    await eventually('MongoDB is there', async () => {
      return (await api.askToken(`without-${how}`, 'secret')).status === 200;
    });
    await fail(proxy);
    // An answer of MongoDB's counts for as long.
    await new Promise((resolve) => setTimeout(resolve, 100));
    const round = async () => {
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => api.askToken(`without-${how}`, 'secret')),
      );
      for (const answer of answers) {
        expect(outcomeOf(answer)).toEqual([503, 'temporarily_unavailable']);
        expect(answer.headers.get('retry-after')).not.toBeNull();
      }
    };
    await quickOnce('tokens without MongoDB', 1_000, round, 3);
    await proxy.restore();
    await eventually('tokens are given', async () => {
      return (await api.askToken(`without-${how}`, 'secret')).status === 200;
    });
  });
});
