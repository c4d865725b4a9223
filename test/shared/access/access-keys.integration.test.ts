/**
 * The effects of events on keys and stores: revocations, and the highest sequence, which only
 * allows removals.
 */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { useInstallation } from '#test/hooks.ts';
import {
  type AccessKey,
  applyErasure,
  applyKeyChange,
  applyStoreStatus,
  type ControlCollections,
  controlCollections,
} from '#shared/access/access-keys.ts';
import { type AccessKeyChange, SCOPES, type Scope } from '#shared/events/access-event.ts';
import { LAST_SEQUENCE } from '#shared/events/cloud-event.ts';
import { controlDatabase } from '#shared/read-models/generation.ts';

const installation = useInstallation();
let control: ControlCollections;
beforeAll(async () => {
  control = controlCollections(
    controlDatabase(installation.mongodb, installation.config.namePrefix),
  );
});
beforeEach(() => Promise.all([control.keys.deleteMany({}), control.stores.deleteMany({})]));

const ENVIRONMENT = 'e';

/**
 * Applies an event of the key `k` written as `active order,menu a,b`, by default at the highest
 * sequence.
 */
function event(
  words: string,
  sequence = LAST_SEQUENCE,
  expiry: Record<string, string> = {},
): AccessKeyChange {
  const [status, scopes = '', secrets = ''] = words.split(' ');
  const revoked = status === 'revoked';
  return {
    kind: 'access_key',
    clientId: 'k',
    storeId: 's1',
    sequence,
    source: '/test',
    eventId: '',
    secretHashes: revoked ? null : secrets.split(',').filter((secret) => secret !== '-'),
    secretExpiry: expiry,
    scopes: revoked ? null : SCOPES.filter((scope) => scopes.split(',').includes(scope)),
    status: status as AccessKey['status'],
  };
}

const apply = (change: AccessKeyChange) => applyKeyChange(control.keys, ENVIRONMENT, change);

/** The key in the same notation. */
async function key(): Promise<string> {
  const stored = await control.keys.findOne({ _id: 'k' });
  if (stored === null) return 'nothing';
  const { status, scopes, secret_hashes: hashes } = stored;
  return [status, scopes.join() || '-', hashes.toSorted().join() || '-'].join(' ');
}

async function afterAllOf(changes: readonly AccessKeyChange[]): Promise<string> {
  await control.keys.deleteMany({});
  for (const change of changes) await apply(change);
  return key();
}

describe('a revocation', () => {
  it('is final for any sequence, and keeps the key’s other fields', async () => {
    for (const sequence of [0, 4, 5, 6, LAST_SEQUENCE]) {
      expect(
        await afterAllOf([
          event('active order a', 5),
          event('revoked', sequence),
          event('active order,menu a', 7),
          event('active order,menu a', LAST_SEQUENCE),
          event('inactive order a', LAST_SEQUENCE),
        ]),
      ).toBe('revoked order a');
    }
  });

  it('of an unknown client_id is final', async () => {
    expect(await afterAllOf([event('revoked', 3)])).toBe('revoked - -');
    expect(await apply(event('active order a', 4))).toBeNull();
    expect(await apply(event('active order a', LAST_SEQUENCE))).toBeNull();
    expect(await key()).toBe('revoked - -');
  });
});

describe('at the highest sequence', () => {
  const BEFORE = event('active store,crm,order,menu a', 5);
  const FIRST = event('active crm,order,menu a,b');

  it.each([
    ['inactive', 'inactive crm,order,menu a,b', 'inactive crm,order,menu a,b'],
    ['fewer scopes', 'active crm,menu a,b', 'active crm,menu a,b'],
    ['no scopes', 'active - a,b', 'active - a,b'],
    ['fewer secrets', 'active crm,order,menu b', 'active crm,order,menu b'],
    ['both', 'inactive menu a', 'inactive menu a'],
    ['revoked', 'revoked', 'revoked crm,order,menu a,b'],
  ])('%s applies', async (_what, words, expected) => {
    expect(await afterAllOf([BEFORE, FIRST, event(words)])).toBe(expected);
    const versions = async () => (await control.keys.findOne({ _id: 'k' }))?.version;
    const version = await versions();
    // A repeated delivery changes nothing, not even of the first event.
    for (const change of [event(words), FIRST, BEFORE]) expect(await apply(change)).toBeNull();
    expect([await key(), await versions()]).toEqual([expected, version]);
  });

  it.each([
    ['one scope more', 'active store,crm,order,menu a,b'],
    ['fewer scopes, but also one more', 'active store,crm a,b'],
    ['fewer secrets, but also another', 'active crm,order,menu a,c'],
    ['fewer scopes and another secret', 'active crm c'],
  ])('%s does not apply', async (_what, words) => {
    expect(await afterAllOf([BEFORE, FIRST, event(words)])).toBe('active crm,order,menu a,b');
  });

  it('an inactive key cannot become active again', async () => {
    expect(await afterAllOf([event('inactive order a'), event('active order a')])).toBe(
      'inactive order a',
    );
  });

  it('an inactive key stays inactive and gains nothing, whatever the event says', async () => {
    expect(await afterAllOf([FIRST, event('inactive store,crm a,c')])).toBe('inactive crm a');
  });

  it('two events that remove different rights both take effect, in any order', async () => {
    const [one, two] = [event('active crm,order a,b'), event('active order,menu a')];
    expect(await afterAllOf([FIRST, one, two])).toBe('active order a');
    expect(await afterAllOf([FIRST, two, one])).toBe('active order a');
  });

  it('the earlier of two deadlines of a secret applies', async () => {
    const expiry = async () => (await control.keys.findOne({ _id: 'k' }))?.secret_expires_at;
    const [early, late] = ['2030-01-01T00:00:00.000Z', '2031-01-01T00:00:00.000Z'];
    await apply(event('active order a,b', LAST_SEQUENCE, { a: late }));
    await apply(event('active order a,b', LAST_SEQUENCE, { a: early, b: late }));
    expect(await expiry()).toEqual({ a: early, b: late });
    expect(await apply(event('active order a,b', LAST_SEQUENCE, { a: late, b: late }))).toBeNull();
    await apply(event('active order b'));
    expect(await expiry()).toEqual({ b: late });
  });

  it('events in any order and number have the same result, within the rights of the first', async () => {
    let seed = 20_261;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return Math.floor((seed / 2 ** 31) * below);
    };
    const some = (names: readonly string[]) => names.filter(() => random(3) > 0).join(',') || '-';
    for (let round = 0; round < 15; round += 1) {
      const first = event(`active ${some(SCOPES)} ${some(['a', 'b'])}`);
      const others = Array.from({ length: 4 }, () =>
        event(`${random(4) === 0 ? 'inactive' : 'active'} ${some(SCOPES)} ${some(['a', 'b'])}`),
      );
      const shuffled = () =>
        [...others, ...others, first]
          .map((change) => ({ change, rank: random(1_000_000) }))
          .toSorted((a, b) => a.rank - b.rank)
          .map(({ change }) => change);
      const results = new Set<string>();
      for (let order = 0; order < 3; order += 1)
        results.add(await afterAllOf([first, ...shuffled()]));
      expect(results.size, `round ${round}`).toBe(1);
      const stored = await control.keys.findOne({ _id: 'k' });
      const isLess = (scope: Scope) => first.scopes?.includes(scope);
      expect(stored?.scopes.every(isLess)).toBe(true);
      expect(stored?.secret_hashes.every((hash) => first.secretHashes?.includes(hash))).toBe(true);
    }
  });

  it('a store can be blocked, but not unblocked', async () => {
    const say = (status: 'active' | 'blocked', source: 'access' | 'record' = 'access') =>
      applyStoreStatus(
        control.stores,
        ENVIRONMENT,
        { storeId: 's1', sequence: LAST_SEQUENCE, status },
        source,
      );
    expect(await say('active')).toMatchObject({ access_status: 'active' });
    expect(await say('blocked')).toMatchObject({ access_status: 'blocked' });
    expect(await say('blocked')).toBeNull();
    expect(await say('active')).toBeNull();
    // The first event of a store's record wins, as for every record.
    expect(await say('active', 'record')).toMatchObject({ record_status: 'active' });
    expect(await say('blocked', 'record')).toBeNull();
  });
});

it('an erasure that the log restores unblocks no store, and lets its next record decide', async () => {
  const say = (status: 'active' | 'blocked', sequence: number) =>
    applyStoreStatus(control.stores, ENVIRONMENT, { storeId: 's1', sequence, status }, 'record');
  await say('blocked', 7);
  const erasure = { storeId: 's1', sequence: 1, at: new Date(), ends: [] };
  await installation.mongodb.withSession((session) =>
    applyErasure(control, ENVIRONMENT, erasure, session),
  );
  expect(await control.stores.findOne({ store_id: 's1' })).toMatchObject({
    record_status: 'blocked',
    erased: { sequence: 1 },
  });
  expect(await say('active', 1)).toMatchObject({ record_status: 'active', record_sequence: 1 });
});

it('below the highest sequence the first of two with the same sequence wins', async () => {
  expect(await afterAllOf([event('active crm,order a', 5), event('inactive crm a', 5)])).toBe(
    'active crm,order a',
  );
});
