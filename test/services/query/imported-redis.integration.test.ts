/**
 * An old copy is restored into a running Redis, with the same process and connections, while no
 * projector runs. Revoked rights are valid for at most a second: the table of decision 0045, row by
 * row.
 */
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { onlyMaster, describeRedis } from '#shared/redis-masters.ts';
import { applyKeyChange } from '#shared/access/access-keys.ts';
import { heartbeatKey, publishAccess } from '#shared/access/grants.ts';
import { hashSecret } from '#shared/access/secrets.ts';
import { createLogger } from '#shared/logging.ts';
import { useMade } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { type RunningApp, startApp, startQueryService, sumOf } from '#test/query-service.ts';
import { copyRedis, type RedisCopy, restoreCopy, rewriteCopy } from '#test/redis-copy.ts';
import { startRedisProcess } from '#test/redis-process.ts';
import {
  areRevoked,
  createKeys,
  haveChecked,
  statusOf as statusOfToken,
  revokeRights,
  type Tokens,
} from './revoked-rights.ts';
import { RedisGate } from '../../../services/query/access/redis-gate.ts';

const own = useMade(startRedisProcess);
const service = useMade(() => startQueryService({ settings: { REDIS_URL: own.url } }));
const other = useMade(() => startApp(service.installation.config));
/** A copy from before the revocations. */
let early: RedisCopy;
let tokens: Tokens = {};

beforeAll(async () => {
  service.installation.redis.on('error', () => undefined);
  tokens = await createKeys(service, [service, other]);
  early = await copyRedis(own.client);
  await revokeRights(service, tokens);
});
/**
 * Waits for checks first: an instance that has not yet noticed a copy may refuse rightly, and close
 * its gate later.
 */
const allIsWell = async () => {
  await bothHaveChecked();
  await eventually('all is well', () => allIsRight([service, other]));
};

const statusOf = (instance: RunningApp, name: string) => statusOfToken(instance, tokens[name]);
const allIsRight = (instances: readonly RunningApp[]) => areRevoked(instances, tokens);

/** How often each instance has reconciled. */
const reconciled = () =>
  Promise.all(
    [service, other].map((one) => sumOf([one], 'store_data_redis_reconciliation_seconds_count')),
  );

/** Makes a key in this process, since a command takes longer than two checks of a service. */
async function makeKey(clientId: string, status: 'active' | 'revoked'): Promise<void> {
  const { config, environment } = service.installation;
  const key = await applyKeyChange(service.control.keys, environment, {
    clientId,
    storeId: 's1',
    sequence: status === 'active' ? 1 : 2,
    secretHashes: [hashSecret('secret')],
    secretExpiry: {},
    scopes: ['order'],
    status,
  });
  if (key === null) throw new Error('nothing changed');
  await publishAccess(onlyMaster(own.client), config.namePrefix, service.control, key);
}

const bothHaveChecked = () => haveChecked(own.client, service.installation.config.namePrefix);

describe('running services', () => {
  beforeEach(allIsWell);

  describe.each([
    ['with FLUSHALL and RESTORE', restoreCopy],
    ['with ordinary commands', rewriteCopy],
  ])('an old copy that is restored into a running Redis %s', (_how, put) => {
    it('closes the gate of every instance, and no revoked right stays valid', async () => {
      await put(own.client, early);
      await eventually('all is right at every instance', () => allIsRight([service, other]));
    });
  });

  it('an old copy is detected by an instance that starts later, although it has current numbers', async () => {
    await using alone = await startRedisProcess();
    const config = {
      ...service.installation.config,
      redis: { ...service.installation.config.redis, url: alone.url },
    };
    const first = await startApp(config);
    await restoreCopy(alone.client, early);
    await eventually('its own instance has noticed', () => allIsRight([first]));
    // Current numbers with old grants.
    const copy = (await copyRedis(alone.client)).map(
      (one) => early.find(({ key }) => key === one.key && key.includes(':grant:')) ?? one,
    );
    await first.app.close();
    await rewriteCopy(alone.client, copy);
    expect(await alone.client.zrange(service.inRedis('s1').grant('revoked'), '0', '-1')).toEqual([
      'active store crm order menu',
    ]);
    await using late = await startApp(config);
    for (let time = 0; time < 5; time += 1)
      expect([401, 503]).toContain(await statusOf(late, 'revoked'));
    await eventually('all is right', () => allIsRight([late]));
  });

  /** Waits until a key that is active in the restored copy is refused. */
  const revokedEverywhere = (clientId: string) =>
    eventually(
      'it is revoked at every instance',
      async () =>
        (await statusOf(service, clientId)) === 401 && (await statusOf(other, clientId)) === 401,
      10_000,
    );

  it('a copy with current command counts is detected by the numbers that instances wrote later', async () => {
    await makeKey('marked', 'active');
    tokens['marked'] = await service.api.token('marked', 'secret');
    const { identity } = await describeRedis(own.client);
    const copy = await copyRedis(own.client);
    await makeKey('marked', 'revoked');
    await bothHaveChecked();
    await rewriteCopy(own.client, copy);
    expect((await describeRedis(own.client)).identity).toBe(identity);
    await revokedEverywhere('marked');
  });

  it('a copy during a failing check is detected by the next one', async () => {
    await makeKey('failing', 'active');
    tokens['failing'] = await service.api.token('failing', 'secret');
    const copy = await copyRedis(own.client);
    await makeKey('failing', 'revoked');
    await bothHaveChecked();
    // The check writes and reads its number, and then fails.
    const connections = [service, other].flatMap(({ app }) =>
      app.services.redis.all().map(({ redis }) => redis),
    );
    const spies = connections.map((redis) =>
      vi.spyOn(redis, 'info').mockRejectedValueOnce(new Error('Command timed out')),
    );
    await rewriteCopy(own.client, copy);
    await eventually('a check has failed at each', async () =>
      spies.every((spy) => spy.mock.calls.length > 0),
    );
    for (const spy of spies) spy.mockRestore();
    await revokedEverywhere('failing');
  });

  it('a copy made after every check is detected by the commands that restored it', async () => {
    await makeKey('quick', 'active');
    tokens['quick'] = await service.api.token('quick', 'secret');
    expect(await statusOf(service, 'quick')).toBe(200);
    const young = await copyRedis(own.client);
    await makeKey('quick', 'revoked');
    expect(await statusOf(other, 'quick')).toBe(401);
    await restoreCopy(own.client, young);
    await revokedEverywhere('quick');
  });

  it('instances do not disturb one another, and a stopped one leaves only keys that expire', async () => {
    const before = await reconciled();
    const pattern = heartbeatKey(service.installation.config.namePrefix, '*');
    const third = await startApp(service.installation.config);
    await haveChecked(own.client, service.installation.config.namePrefix, 3);
    expect(await allIsRight([service, other, third])).toBe(true);
    expect(await reconciled()).toEqual(before);
    await third.app.close();
    for (const key of await own.client.keys(pattern))
      expect(await own.client.pttl(key)).toBeGreaterThan(0);
  });
});

describe('a copy that is restored while an instance reconciles', () => {
  /**
   * Opens a gate.
   * @param meanwhile runs once, in the first reconciliation.
   * @returns the reconciliations until it opened.
   */
  async function comparedUntilOpen(meanwhile: () => Promise<void>): Promise<number> {
    const { installation, control } = service;
    const { config } = installation;
    let compared = 0;
    const find = () => ({
      async toArray() {
        compared += 1;
        if (compared === 1) await meanwhile();
        return [];
      },
    });
    const revokedSessions = { find, collectionName: control.revokedSessions.collectionName };
    const gate = new RedisGate({
      master: onlyMaster(own.client),
      prefix: config.namePrefix,
      control: {
        ...control,
        revokedSessions: revokedSessions as unknown as typeof control.revokedSessions,
      },
      environments: config.environments,
      logger: createLogger('test', 'silent'),
      metrics: service.app.services.metrics,
      changed: () => undefined,
    });
    try {
      await eventually('the gate opens', async () => gate.isOpen);
    } finally {
      await gate.stop();
    }
    return compared;
  }

  it('and is older than that is detected by the missing number', async () => {
    const copy = await copyRedis(own.client);
    expect(await comparedUntilOpen(() => rewriteCopy(own.client, copy))).toBe(2);
  });

  it('and was made meanwhile is detected by the commands that restored it', async () => {
    const put = async () => restoreCopy(own.client, await copyRedis(own.client));
    expect(await comparedUntilOpen(put)).toBe(2);
  });

  it('is not detected if there is none', async () => {
    expect(await comparedUntilOpen(async () => undefined)).toBe(1);
  });
});
