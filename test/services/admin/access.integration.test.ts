import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hashSecret } from '#shared/access/secrets.ts';
import { accessTopic } from '#shared/events/topics.ts';
import { useQueryService } from '#test/hooks.ts';
import { keyEvent } from '#test/events.ts';
import { eventually } from '#test/eventually.ts';
import { readLog } from '#test/read-log.ts';
import { expectRefused, runCommand, runJson } from './run-command.ts';

const service = useQueryService({ environments: 2, partitions: 1 });
let environment: string;
let other: string;
beforeAll(() => {
  [environment = '', other = ''] = service.installation.config.environments;
});
afterEach(() => service.startProjector());

const run = (words: string, over: Record<string, string> = {}) =>
  runCommand({ ...service.installation.env, ...over }, words);
const json = (words: string) => runJson<object>(service.installation.env, words);
const storedKey = (clientId: string) => service.control.keys.findOne({ _id: clientId });
/** The newest member in Redis of a key. */
const grantOf = (clientId: string) =>
  service.installation.redis.zrange(service.inRedis('s1').grant(clientId), 0, '-1');
/** Makes a key with an event, which is then the last one that is applied. */
const newKey = (clientId: string, ...scopes: string[]) => service.setKey({ clientId, scopes });

/** Lets a projector apply the events that commands have published. */
async function applyLog(): Promise<void> {
  await service.startProjector();
  await newKey('later', 'menu');
}

describe('keys', () => {
  it('are active when "create" ends, which prints their secret once', async () => {
    const { code, stdout, stderr } = await run(
      `keys create --store s1 -e ${environment} --scopes order,crm`,
    );
    expect(code).toBe(0);
    expect(stderr).toContain('note: no record of a store s1 has arrived');
    const [, clientId = '', secret = ''] =
      /^client_id +([A-Za-z0-9]{24})\nclient_secret +(storedata[A-Za-z0-9]{49})\n/.exec(stdout) ??
      [];
    expect(await storedKey(clientId)).toMatchObject({
      store_id: 's1',
      environment,
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
    const { env } = service.installation;
    const secret = 'pos secret: ç "quoted" 0123456789';
    const words = `keys create -s s1 -e ${environment} --scopes menu --secret-file - --client-id`;
    const args = [...words.split(' '), 'pos 17'];
    expect(await runJson(env, args, `${secret}\n`)).not.toHaveProperty('client_secret');
    await expectRefused(
      runCommand(env, args, { input: 'another secret that is long enough' }),
      `client_id pos 17 exists already: store s1 in ${environment}, active`,
    );
    expect((await storedKey('pos 17'))?.secret_hashes).toEqual([hashSecret(secret)]);
  });

  it('are deactivated, activated again, and revoked for good', async () => {
    await newKey('k', 'crm', 'order');
    for (const [command, status] of [
      ['deactivate', 'inactive'],
      ['activate', 'active'],
      ['revoke', 'revoked'],
    ] as const) {
      expect(await json(`keys ${command} k`)).toMatchObject({ status, changed: true });
      expect(await grantOf('k')).toEqual([`${status} crm order`]);
      expect(await json(`keys ${command} k`)).toMatchObject({ status, changed: false });
    }
    for (const words of ['keys activate k', 'keys scopes k --set menu'])
      await expectRefused(run(words), 'key k is revoked, which is final');
  });

  it('keep the changes of two operators at the same time', async () => {
    await newKey('shared', 'crm', 'order');
    await Promise.all([
      json('keys scopes shared --set order,crm,menu'),
      json('keys deactivate shared'),
    ]);
    expect(await grantOf('shared')).toEqual(['inactive crm order menu']);
  });
});

describe('while no projector runs', () => {
  it('a removal of rights takes effect immediately, and its event changes nothing later', async () => {
    await newKey('lessened', 'crm', 'order');
    await service.stopProjector();
    await json('keys scopes lessened --set order');
    expect(await grantOf('lessened')).toEqual(['active order']);
    await json('keys deactivate lessened');
    expect(await grantOf('lessened')).toEqual(['inactive order']);
    const before = await storedKey('lessened');
    await applyLog();
    expect(await storedKey('lessened')).toEqual(before);
  });

  it('a grant of rights takes effect immediately, unless Kafka is away or the log has unapplied events', async () => {
    await newKey('given', 'order');
    await service.stopProjector();
    const more = 'keys scopes given --set order,menu';
    await expectRefused(run(more, { KAFKA_BROKERS: '127.0.0.1:1' }), 'Kafka cannot be reached');
    expect(await grantOf('given')).toEqual(['active order']);
    await json(more);
    expect(await grantOf('given')).toEqual(['active order menu']);
    // Another publisher removes the rights with the sequence that the command would use.
    const sequence = ((await storedKey('given'))?.sequence ?? 0) + 1;
    await service.installation.publishAccess([keyEvent('given', sequence, { scopes: ['menu'] })]);
    for (const words of [
      'keys scopes given --set order,menu,crm',
      `keys create -s s1 -e ${environment} --scopes menu`,
    ]) {
      await expectRefused(run(`${words} --wait 0`), 'were not applied after 0 s');
    }
    const giving = json('keys scopes given --set menu,crm');
    await service.startProjector();
    await giving;
    expect(await storedKey('given')).toMatchObject({
      scopes: ['crm', 'menu'],
      secret_hashes: [hashSecret('secret')],
      sequence: sequence + 1,
    });
  });

  it('a revocation does not wait for the transaction of a killed projector', async () => {
    const { databases, mongodb } = service.installation;
    await newKey('locked', 'crm');
    await service.stopProjector();
    const session = mongodb.startSession();
    session.startTransaction({
      readConcern: { level: 'snapshot' },
      writeConcern: { w: 'majority' },
    });
    await service.control.keys.updateOne({ _id: 'locked' }, { $set: { scopes: [] } }, { session });
    await databases.control
      .collection<{ _id: string }>('checkpoints')
      .updateOne({ _id: `store-access.${environment}/0` }, { $set: { session: session.id } });
    const startedAt = Date.now();
    await json('keys revoke locked');
    // MongoDB itself would abort it after a minute.
    expect(Date.now() - startedAt).toBeLessThan(45_000);
    expect(await grantOf('locked')).toEqual(['revoked crm']);
    await session.abortTransaction().catch(() => undefined);
    await session.endSession();
  });
});

it('a key at the highest sequence can lose scopes, be deactivated and revoked, but gain nothing', async () => {
  const refused = 'has the last possible sequence: it can only be narrowed, deactivated';
  const data = { secret_sha256: ['one', 'two'].map(hashSecret), scopes: ['crm', 'order', 'menu'] };
  await service.installation.publishAccess([keyEvent('last', Number.MAX_SAFE_INTEGER, data)]);
  await eventually('the key is there', async () => (await storedKey('last')) !== null);
  await service.stopProjector();
  await json('keys scopes last --set crm,order');
  expect(await grantOf('last')).toEqual(['active crm order']);
  await json('keys rotate-secret last --retire-old');
  expect((await storedKey('last'))?.secret_hashes).toEqual([hashSecret('one')]);
  for (const words of ['keys scopes last --set crm,menu', 'keys rotate-secret last'])
    await expectRefused(run(words), refused);
  await json('keys deactivate last');
  expect(await grantOf('last')).toEqual(['inactive crm order']);
  await expectRefused(run('keys activate last'), refused);
  await json('keys revoke last');
  expect(await grantOf('last')).toEqual(['revoked crm order']);
  await applyLog();
  expect((await storedKey('last'))?.status).toBe('revoked');
  expect(await service.installation.databases.control.collection('dead_letters').findOne()).toBe(
    null,
  );
});

describe('changes of access that the log lacks, since Kafka was away,', () => {
  /** The ids of the keys and stores whose last change the log lacks. */
  async function marked(): Promise<string[]> {
    const pending = { event_pending: true } as const;
    const keys = await service.control.keys.find(pending).toArray();
    const stores = await service.control.stores.find(pending).toArray();
    return [...keys, ...stores].map(({ _id }) => _id);
  }

  let changes = 0;

  /** Revokes a key and sets a quota while Kafka cannot be reached. @returns the key. */
  async function leaveMarks(): Promise<string> {
    changes += 1;
    const key = `marked${changes}`;
    await newKey(key, 'order');
    const quota = `quota set --store s1 --environment ${environment} --requests ${changes}`;
    for (const words of [`keys revoke ${key}`, quota]) {
      await expectRefused(
        run(words, { KAFKA_BROKERS: '127.0.0.1:1' }),
        /is in MongoDB and stays, but: Kafka cannot be reached .*until the next change of access/,
      );
    }
    expect(await grantOf(key)).toEqual(['revoked order']);
    expect(await marked()).toEqual([key, `${environment}/s1`]);
    return key;
  }

  it('are published by "access republish", which removes their marks', async () => {
    const key = await leaveMarks();
    expect((await run(`access republish --environment ${environment}`)).code).toBe(0);
    expect(await marked()).toEqual([]);
    const log = await readLog(service.installation, accessTopic(environment));
    const events = log.map(({ value }) => String(value));
    expect(events.findLast((event) => event.includes(key))).toContain('"status":"revoked"');
  });

  it('are published by a change of access in another environment', async () => {
    await leaveMarks();
    expect((await run(`stores block s9 --environment ${other}`)).code).toBe(0);
    expect(await marked()).toEqual([]);
  });

  it('stay marked until a command that knows their environment', async () => {
    await leaveMarks();
    expect((await run('access republish', { ENVIRONMENTS: other })).code).toBe(0);
    expect(await marked()).toHaveLength(2);
    await run('access republish');
    expect(await marked()).toEqual([]);
  });
});
