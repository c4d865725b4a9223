/**
 * An old copy is restored into a running Redis, with the same process and connections, while no
 * projector runs. Revoked rights are valid for at most a second: the table of decision 0045, row by
 * row.
 */
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { onlyMaster } from '#shared/redis-masters.ts';
import { applyKeyChange } from '#shared/access/access-keys.ts';
import { heartbeatKey, publishAccess } from '#shared/access/grants.ts';
import { hashSecret } from '#shared/access/secrets.ts';
import { createLogger } from '#shared/logging.ts';
import { useMade } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import {
  type RunningApp,
  startApp,
  startAppWith,
  startQueryService,
  sumOf,
} from '#test/query-service.ts';
import { copyRedis, type RedisCopy, restoreCopy, rewriteCopy } from './redis-copy.ts';
import { startRedisProcess } from '#test/redis-process.ts';
import {
  areRevoked,
  createKeys,
  haveChecked,
  statusOf as statusOfToken,
  revokeRights,
  type Tokens,
} from './revoked-rights.ts';
import { redisGate } from '../../../services/query/access/redis-gate.ts';

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
const statusOf = (instance: RunningApp, name: string) => statusOfToken(instance, tokens[name]);
const allAreRight = (...instances: RunningApp[]) =>
  eventually('all is right', () => areRevoked(instances, tokens));

/** How often each instance has reconciled. */
const reconciled = () =>
  Promise.all(
    [service, other].map((one) => sumOf([one], 'store_data_redis_reconciliation_seconds_count')),
  );

/** Makes a key in this process, since a command takes longer than two checks of a service. */
async function makeKey(clientId: string, status: 'active' | 'revoked') {
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
  beforeEach(async () => {
    // First: an instance that has not yet noticed a copy may refuse rightly, and close its gate
    // later.
    await bothHaveChecked();
    await allAreRight(service, other);
  });

  it.each([
    ['FLUSHALL and RESTORE', restoreCopy],
    ['ordinary commands', rewriteCopy],
  ])('refuse what was revoked soon after an old copy was restored with %s', async (_how, put) => {
    await put(own.client, early);
    await allAreRight(service, other);
  });

  it('an old copy is detected by an instance that starts later, although it has current numbers', async () => {
    await using alone = await startRedisProcess();
    const start = () => startAppWith(service.installation, { REDIS_URL: alone.url });
    const first = await start();
    await restoreCopy(alone.client, early);
    await allAreRight(first);
    // Current numbers with old grants.
    const copy = (await copyRedis(alone.client)).map(
      (one) => early.find(({ key }) => key === one.key && key.includes(':grant:')) ?? one,
    );
    await first.app.close();
    await rewriteCopy(alone.client, copy);
    await using late = await start();
    for (let time = 0; time < 5; time += 1)
      expect([401, 503]).toContain(await statusOf(late, 'revoked'));
    await allAreRight(late);
  });

  /** Waits until a key that is active in the restored copy is refused. */
  const revokedEverywhere = (clientId: string) =>
    eventually(
      'it is revoked at every instance',
      async () =>
        (await statusOf(service, clientId)) === 401 && (await statusOf(other, clientId)) === 401,
      10_000,
    );

  /** Makes a key, copies Redis, and revokes the key. */
  async function copyBefore(clientId: string) {
    await makeKey(clientId, 'active');
    tokens[clientId] = await service.api.token(clientId, 'secret');
    const copy = await copyRedis(own.client);
    await makeKey(clientId, 'revoked');
    return copy;
  }

  it('a copy during a failing check is detected by the next one', async () => {
    const copy = await copyBefore('failing');
    await bothHaveChecked();
    // The check writes and reads its number, and then fails.
    const connections = [service, other].flatMap(({ app }) =>
      app.services.redis.all().map(({ redis }) => redis),
    );
    const spies = connections.map((redis) =>
      vi.spyOn(redis, 'info').mockRejectedValueOnce(new Error('Command timed out')),
    );
    await rewriteCopy(own.client, copy);
    await eventually('a check has failed at each', () =>
      spies.every((spy) => spy.mock.calls.length > 0),
    );
    for (const spy of spies) spy.mockRestore();
    await revokedEverywhere('failing');
  });

  it('a copy made after every check is detected by the commands that restored it', async () => {
    const copy = await copyBefore('quick');
    expect(await statusOf(other, 'quick')).toBe(401);
    await restoreCopy(own.client, copy);
    await revokedEverywhere('quick');
  });

  it('instances do not disturb one another, and a stopped one leaves only keys that expire', async () => {
    const before = await reconciled();
    const pattern = heartbeatKey(service.installation.config.namePrefix, '*');
    const third = await startApp(service.installation.config);
    await haveChecked(own.client, service.installation.config.namePrefix, 3);
    expect(await areRevoked([service, other, third], tokens)).toBe(true);
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
  async function comparedUntilOpen(meanwhile: () => Promise<unknown>) {
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
    const { collectionName } = control.revokedSessions;
    const gate = redisGate({
      master: onlyMaster(own.client),
      prefix: config.namePrefix,
      control: {
        ...control,
        revokedSessions: { find, collectionName } as unknown as typeof control.revokedSessions,
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

  it.each<[string, number, () => Promise<unknown>]>([
    ['that is older is detected by the missing number', 2, () => rewriteCopy(own.client, early)],
    [
      'that was made meanwhile is detected by the commands that restored it',
      2,
      async () => restoreCopy(own.client, await copyRedis(own.client)),
    ],
    ['is not detected if there is none', 1, async () => undefined],
  ])('%s', async (_what, compared, meanwhile) => {
    expect(await comparedUntilOpen(meanwhile)).toBe(compared);
  });
});
