/**
 * MongoDB decides about tokens, and Redis stores no session if it has a newer grant: the next
 * request at every instance sees a change.
 */
import { describe, expect, it, vi } from 'vitest';
import { setVersioned } from '#shared/access/grants.ts';
import type { AccessKey } from '#shared/access/access-keys.ts';
import { execute } from '#shared/redis-masters.ts';
import { useMade, useQueryService } from '#test/hooks.ts';
import type { Answer } from '#test/api-client.ts';
import { startApp } from '#test/query-service.ts';

const service = useQueryService({ oneRedis: true });
const instances = [service, useMade(() => startApp(service.installation.config))];
let storeIds = 0;

type Outcome = [status: number, error: string | undefined];

const outcomeOf = ({ status, json }: Answer): Outcome => [
  status,
  (json as { error?: string }).error,
];

/** The outcome at each instance. */
async function ask(clientId: string, secret = 'secret') {
  const answers: Outcome[] = [];
  for (const { api } of instances) answers.push(outcomeOf(await api.askToken(clientId, secret)));
  return answers;
}

const both = (...outcome: Outcome) => [outcome, outcome];

/** Creates a store with a client that has tokens from both instances. */
async function warm(clientId: string) {
  storeIds += 1;
  const storeId = `store-${storeIds}`;
  await service.setKey({ clientId, storeId });
  await expectWarm(clientId);
  return storeId;
}

async function expectWarm(clientId: string, secret = 'secret') {
  expect(await ask(clientId, secret)).toEqual(both(200, undefined));
}

async function sessionsOf(storeId: string) {
  const pattern = service.inRedis(storeId).session('*');
  return (await service.installation.redis.keys(pattern.replaceAll(/[{}]/g, String.raw`\$&`)))
    .length;
}

describe('a Redis', () => {
  it('that lost data of a key gets it from MongoDB, and the right secret passes', async () => {
    const storeId = await warm('lost');
    const { redis } = service.installation;
    const { grant, storeAccess } = service.inRedis(storeId);
    for (const lost of [[grant('lost')], [storeAccess], [grant('lost'), storeAccess]]) {
      await redis.del(...lost);
      expect(await ask('lost', 'wrong')).toEqual(both(401, 'invalid_client'));
      await expectWarm('lost');
    }
  });

  it('with a newer grant than a MongoDB restored from a backup leads to no token', async () => {
    const storeId = await warm('ahead');
    const { redis } = service.installation;
    const redisKey = service.inRedis(storeId).grant('ahead');
    const version = (await service.control.keys.findOne({ _id: 'ahead' }))?.version ?? 0;
    const stored = await sessionsOf(storeId);
    const write = (ahead: number, member: string) =>
      execute(setVersioned(redis.multi(), { redisKey, version: version + ahead, member }));
    await write(1_000, 'active crm');
    expect(await ask('ahead')).toEqual(both(503, 'temporarily_unavailable'));
    await write(2_000, 'revoked crm');
    expect(await ask('ahead')).toEqual(both(401, 'invalid_client'));
    expect(await sessionsOf(storeId)).toBe(stored);
  });

  it('with a grant without a key in MongoDB leads to no token', async () => {
    await warm('orphan');
    await service.control.keys.deleteOne({ _id: 'orphan' });
    expect(await ask('orphan')).toEqual(both(401, 'invalid_client'));
  });
});

describe('between the read of a key and the storing of its session', () => {
  /** Makes the first instance read old records, like from an isolated former primary. */
  function readsOld(old: AccessKey, times: number) {
    const { keys } = service.app.services.control;
    const find = keys.find.bind(keys);
    let left = times;
    return vi.spyOn(keys, 'find').mockImplementation(((...args: Parameters<typeof find>) => {
      if (!('_id' in (args[0] ?? {})) || left === 0) return find(...args);
      left -= 1;
      return { toArray: () => Promise.resolve([old]) };
    }) as typeof keys.find);
  }

  async function retired(clientId: string) {
    const storeId = await warm(clientId);
    const old = await service.control.keys.findOne({ _id: clientId });
    if (old === null) throw new Error('there is no such key');
    await service.setKey({ clientId, storeId, secrets: ['next'] });
    return { old, storeId };
  }

  it('a secret is retired: MongoDB is read again, and no token is issued', async () => {
    const { old, storeId } = await retired('between');
    const stored = await sessionsOf(storeId);
    const spy = readsOld(old, 1);
    try {
      const answer = await service.api.askToken('between', 'secret');
      expect(outcomeOf(answer)).toEqual([401, 'invalid_client']);
    } finally {
      spy.mockRestore();
    }
    expect(await sessionsOf(storeId)).toBe(stored);
    await expectWarm('between', 'next');
  });

  it('an isolated former primary still has the old secret: no token is issued, and Redis keeps the newer grant', async () => {
    const { old, storeId } = await retired('isolated');
    const { redis } = service.installation;
    const held = () =>
      redis.zrange(service.inRedis(storeId).grant('isolated'), '0', '-1', 'WITHSCORES');
    const before = [await sessionsOf(storeId), await held()];
    const spy = readsOld(old, Infinity);
    try {
      const answer = await service.api.askToken('isolated', 'secret');
      expect(outcomeOf(answer)).toEqual([503, 'temporarily_unavailable']);
    } finally {
      spy.mockRestore();
    }
    expect([await sessionsOf(storeId), await held()]).toEqual(before);
  });
});

it('failures take the same time whether the client exists or not', async () => {
  await warm('timed');
  for (const clientId of ['timed', 'never-seen']) {
    for (let time = 0; time < 5; time += 1) {
      const began = performance.now();
      expect((await service.api.askToken(clientId, 'wrong')).status).toBe(401);
      // A timer may fire a millisecond early.
      expect(performance.now() - began).toBeGreaterThan(9);
    }
  }
});
