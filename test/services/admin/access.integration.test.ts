import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  type AccessKey,
  controlCollections,
  createControlIndexes,
  type StoreAccess,
} from '#shared/access/access-keys.ts';
import { redisKeys } from '#shared/access/grants.ts';
import { hashSecret } from '#shared/access/secrets.ts';
import { accessTopic } from '#shared/events/topics.ts';
import { useInstallation, useRestartableProjector } from '#test/hooks.ts';
import { keyEvent } from '#test/events.ts';
import { eventually } from '#test/eventually.ts';
import { readLog } from '#test/read-log.ts';
import { endsOf } from '#test/topics.ts';
import { expectRefused, runCommand, runJson } from './run-command.ts';

interface CreatedKey {
  client_id: string;
  client_secret?: string;
  store_id: string;
  environment: string;
  scopes: string[];
  status: string;
  changed: boolean;
  live: boolean;
}

const installation = useInstallation({ partitions: 1 });
const { start, stop } = useRestartableProjector(installation);
beforeAll(() => createControlIndexes(control()));

const control = () => installation.databases.control;
const run = (words: string) => runCommand(installation.env, words);
const json = <T = CreatedKey>(words: string) => runJson<T>(installation.env, words);

function storedKey(clientId: string): Promise<AccessKey | null> {
  return controlCollections(control()).keys.findOne({ _id: clientId });
}
function storedAccess(storeId: string): Promise<StoreAccess | null> {
  return controlCollections(control()).stores.findOne({
    _id: `${installation.environment}/${storeId}`,
  });
}

const keysOf = (storeId: string) =>
  redisKeys(installation.config.namePrefix, installation.environment, storeId);
/** The newest member in Redis of a key. */
const grantOf = (clientId: string) =>
  installation.redis.zrange(keysOf('s1').grant(clientId), 0, '-1');

async function newKey(scopes = 'order,crm'): Promise<string> {
  await start();
  return (await json(`keys create --store s1 --scopes ${scopes}`)).client_id;
}

/** Waits until the access log is applied to its end. */
async function logIsApplied(): Promise<void> {
  await start();
  const topic = accessTopic(installation.environment);
  const end = (await endsOf(installation.kafka, topic)).get(0);
  const checkpoints = control().collection<{ topic: string; position: number }>('checkpoints');
  await eventually('the access log is applied', async () => {
    // Access records are read with majority, which lags a moment behind other reads.
    const checkpoint = await checkpoints.findOne({ topic }, { readConcern: 'majority' });
    return (checkpoint?.position ?? 0) >= Number(end);
  });
}

describe('keys', () => {
  it('are active when "create" ends, which prints their secret once', async () => {
    await start();
    const { code, stdout, stderr } = await run('keys create --store s1 --scopes order,crm');
    expect(code).toBe(0);
    expect(stderr).toContain('note: no record of a store s1 has arrived');
    const [, clientId = '', secret = ''] =
      /^client_id +([A-Za-z0-9]{24})\nclient_secret +(storedata[A-Za-z0-9]{49})\n/.exec(stdout) ??
      [];
    expect(await storedKey(clientId)).toMatchObject({
      store_id: 's1',
      environment: installation.environment,
      scopes: ['crm', 'order'],
      status: 'active',
      secret_hashes: [hashSecret(secret)],
      sequence: 1,
    });
    expect(await grantOf(clientId)).toEqual(['active crm order']);
    const listed = await run('keys list');
    expect(listed.stdout).toContain(clientId);
    expect(listed.stdout).not.toContain(secret);
    expect(listed.stdout).not.toContain(hashSecret(secret));
  });

  it('can be imported, and are unique', async () => {
    await start();
    const secret = 'pos secret: ç "quoted" 0123456789';
    const words = 'keys create -s s1 --scopes menu --secret-file - --client-id';
    const args = [...words.split(' '), 'pos 17'];
    const created = await runJson<CreatedKey>(installation.env, args, `${secret}\n`);
    expect(created.client_secret).toBeUndefined();
    await expectRefused(
      runCommand(installation.env, args, { input: 'another secret that is long enough' }),
      `client_id pos 17 exists already: store s1 in ${installation.environment}, active`,
    );
    expect((await storedKey('pos 17'))?.secret_hashes).toEqual([hashSecret(secret)]);
  });

  it('are deactivated, activated again, and revoked for good', async () => {
    const key = await newKey();
    for (const [command, status] of [
      ['deactivate', 'inactive'],
      ['activate', 'active'],
      ['revoke', 'revoked'],
    ] as const) {
      expect(await json(`keys ${command} ${key}`)).toMatchObject({ status, changed: true });
      expect(await grantOf(key)).toEqual([`${status} crm order`]);
      expect(await json(`keys ${command} ${key}`)).toMatchObject({ status, changed: false });
    }
    for (const words of [`keys activate ${key}`, `keys scopes ${key} --set menu`])
      await expectRefused(run(words), `key ${key} is revoked, which is final`);
  });

  it('keep the changes of two operators at the same time', async () => {
    const key = await newKey();
    await Promise.all([
      json(`keys scopes ${key} --set order,crm,menu`),
      json(`keys deactivate ${key}`),
    ]);
    expect(await grantOf(key)).toEqual(['inactive crm order menu']);
  });
});

describe('while no projector runs', () => {
  afterEach(() => start());

  it('a removal of rights takes effect immediately, and its event changes nothing later', async () => {
    const [lessScopes, inactive, revoked] = [await newKey(), await newKey(), await newKey()];
    const stored = () => Promise.all([lessScopes, inactive, revoked].map((key) => storedKey(key)));
    await stop();
    await json(`keys scopes ${lessScopes} --set order`);
    await json(`keys deactivate ${inactive}`);
    await json(`keys revoke ${revoked}`);
    const grants = await Promise.all([lessScopes, inactive, revoked].map(grantOf));
    expect(grants.flat()).toEqual(['active order', 'inactive crm order', 'revoked crm order']);
    const before = await stored();
    await logIsApplied();
    expect(await stored()).toEqual(before);
  });

  it('a grant of rights takes effect immediately, unless the log has unapplied events', async () => {
    const key = await newKey('order');
    await logIsApplied();
    await stop();
    expect(await json(`keys scopes ${key} --set order,menu`)).toMatchObject({ live: true });
    expect(await grantOf(key)).toEqual(['active order menu']);
    // Another publisher removes the rights with the sequence that the command would use.
    await installation.publishAccess([keyEvent(key, 3, { scopes: ['menu'] })]);
    for (const words of [
      `keys scopes ${key} --set order,menu,crm`,
      'keys create -s s1 --scopes menu',
    ]) {
      await expectRefused(
        runCommand(installation.env, `${words} --wait 0`),
        'were not applied after 0 s',
      );
    }
    const giving = json(`keys scopes ${key} --set menu,crm`);
    await start();
    await giving;
    expect(await storedKey(key)).toMatchObject({ scopes: ['crm', 'menu'], sequence: 4 });
    expect((await storedKey(key))?.secret_hashes).toEqual([hashSecret('secret')]);
  });

  it('a revocation does not wait for the transaction of a killed projector', async () => {
    const key = await newKey();
    await logIsApplied();
    await stop();
    const session = installation.mongodb.startSession();
    const { keys } = controlCollections(control());
    session.startTransaction({
      readConcern: { level: 'snapshot' },
      writeConcern: { w: 'majority' },
    });
    await keys.updateOne({ _id: key }, { $set: { scopes: [] } }, { session });
    await control()
      .collection<{ _id: string }>('checkpoints')
      .updateOne(
        { _id: `store-access.${installation.environment}/0` },
        { $set: { session: session.id } },
      );
    const startedAt = Date.now();
    await json(`keys revoke ${key}`);
    // MongoDB itself would abort it after a minute.
    expect(Date.now() - startedAt).toBeLessThan(45_000);
    expect(await grantOf(key)).toEqual(['revoked crm order']);
    await session.abortTransaction().catch(() => undefined);
    await session.endSession();
  });
});

describe('while Kafka or Redis is away', () => {
  it('a revocation takes effect on reachable servers, and the command names the missing step', async () => {
    const key = await newKey();
    const noKafka = { ...installation.env, KAFKA_BROKERS: '127.0.0.1:1' };
    await expectRefused(
      runCommand(noKafka, `keys revoke ${key}`),
      /^store-data: the change of key \w+ is in MongoDB and stays, but: Kafka cannot be reached at 127\.0\.0\.1:1 .*until the next change of access[^\n]*\n$/,
    );
    expect(await grantOf(key)).toEqual(['revoked crm order']);
    expect(await storedKey(key)).toMatchObject({ event_pending: true });

    // The next command publishes the event.
    const other = await newKey();
    expect((await storedKey(key))?.event_pending).toBeUndefined();
    const events = await readLog(installation, accessTopic(installation.environment));
    const own = events.map(({ value }) => String(value)).filter((text) => text.includes(key));
    expect(own.at(-1)).toContain('"status":"revoked"');
    await stop();
    await expectRefused(
      runCommand({ ...installation.env, REDIS_URL: 'redis://127.0.0.1:1' }, `keys revoke ${other}`),
      'is in MongoDB and stays, but: Redis cannot be reached at redis://127',
    );
    await start();
    await eventually(
      'a projector brings Redis up to date',
      async () => (await grantOf(other))[0] === 'revoked crm order',
    );
  });

  it('no grant of rights is written', async () => {
    const key = await newKey('order');
    const noKafka = { ...installation.env, KAFKA_BROKERS: '127.0.0.1:1' };
    await expectRefused(
      runCommand(noKafka, `keys scopes ${key} --set order,crm,menu`),
      'Kafka cannot be reached',
    );
    expect(await storedKey(key)).toMatchObject({ scopes: ['order'] });
    expect(await grantOf(key)).toEqual(['active order']);
  });
});

describe('stores', () => {
  it('stay blocked while their own record blocks them', async () => {
    await start();
    const created_at = '2026-01-01T00:00:00Z';
    const data = { name: 'x', timezone_offset: '-03:00', status: 'blocked', created_at };
    await installation.publish([
      { entity: 'store', storeId: 's8', subject: 's8', sequence: 1, data },
    ]);
    await eventually(
      'the record is adopted',
      async () => (await storedAccess('s8'))?.record_status === 'blocked',
    );
    const { code, stdout, stderr } = await run('stores unblock s8');
    expect(code).toBe(0);
    expect(stdout).toMatch(/blocked +true\n/);
    expect(stderr).toContain('own record is "blocked"');
  });
});

describe('at the highest sequence', () => {
  const NOTHING_TO_GIVE = 'has the last possible sequence: it can only be narrowed, deactivated';

  async function lastKey(clientId: string): Promise<void> {
    const data = {
      secret_sha256: ['one', 'two'].map(hashSecret),
      scopes: ['crm', 'order', 'menu'],
    };
    await installation.publishAccess([keyEvent(clientId, Number.MAX_SAFE_INTEGER, data)]);
    await start();
    await eventually(
      'the key is there',
      async () => (await storedKey(clientId))?.status === 'active',
    );
    await logIsApplied();
    await stop();
  }

  it('a key can lose scopes, be deactivated and revoked, but gain nothing', async () => {
    await lastKey('last');
    expect(await json('keys scopes last --set crm,order')).toMatchObject({
      live: true,
    });
    expect(await grantOf('last')).toEqual(['active crm order']);
    await json('keys rotate-secret last --retire-old');
    expect((await storedKey('last'))?.secret_hashes).toEqual([hashSecret('one')]);
    for (const words of ['keys scopes last --set crm,menu', 'keys rotate-secret last']) {
      await expectRefused(runCommand(installation.env, words), NOTHING_TO_GIVE);
    }
    await json('keys deactivate last');
    expect(await grantOf('last')).toEqual(['inactive crm order']);
    await expectRefused(run('keys activate last'), NOTHING_TO_GIVE);
    await json('keys revoke last');
    expect(await grantOf('last')).toEqual(['revoked crm order']);
    await logIsApplied();
    expect(await storedKey('last')).toMatchObject({ status: 'revoked' });
    expect(await control().collection('dead_letters').countDocuments()).toBe(0);
  });
});
