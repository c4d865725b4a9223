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
import { type AccessKeyChange, SCOPES } from '#shared/events/access-event.ts';
import { LAST_SEQUENCE } from '#shared/events/cloud-event.ts';

const installation = useInstallation();
let control: ControlCollections;
beforeAll(async () => {
  control = controlCollections(installation.databases.control);
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

/** Applies the status of the store by a source. */
const say = (source: 'access' | 'record', status: 'active' | 'blocked', sequence = LAST_SEQUENCE) =>
  applyStoreStatus(control.stores, ENVIRONMENT, { storeId: 's1', sequence, status }, source);

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
          event('active order,menu a'),
          event('inactive order a'),
        ]),
      ).toBe('revoked order a');
    }
  });

  it('of an unknown client_id is final', async () => {
    const later = [event('active order a', 4), event('active order a')];
    expect(await afterAllOf([event('revoked', 3), ...later])).toBe('revoked - -');
  });
});

describe('at the highest sequence', () => {
  const BEFORE = event('active store,crm,order,menu a', 5);
  const FIRST = 'active crm,order,menu a,b';

  it.each([
    ['inactive applies', ['inactive crm,order,menu a,b'], 'inactive crm,order,menu a,b'],
    ['fewer scopes apply', ['active crm,menu a,b'], 'active crm,menu a,b'],
    ['no scopes apply', ['active - a,b'], 'active - a,b'],
    ['fewer secrets apply', ['active crm,order,menu b'], 'active crm,order,menu b'],
    ['revoked applies', ['revoked'], 'revoked crm,order,menu a,b'],
    ['one scope more does not apply', ['active store,crm,order,menu a,b'], FIRST],
    ['fewer scopes, but also one more, do not apply', ['active store,crm a,b'], FIRST],
    ['fewer secrets, but also another, do not apply', ['active crm,order,menu a,c'], FIRST],
    ['an inactive key gains nothing', ['inactive store,crm a,c', 'active crm a'], 'inactive crm a'],
    ['two removals apply', ['active crm,order a,b', 'active order,menu a'], 'active order a'],
    [
      'two removals apply in reverse',
      ['active order,menu a', 'active crm,order a,b'],
      'active order a',
    ],
  ])('%s', async (_what, words, expected) => {
    const all = [BEFORE, event(FIRST), ...words.map((one) => event(one))];
    expect(await afterAllOf(all)).toBe(expected);
    const { version } = (await control.keys.findOne({ _id: 'k' })) ?? {};
    // A repeated delivery changes nothing.
    for (const change of all.toReversed()) expect(await apply(change)).toBeNull();
    expect(await key()).toBe(expected);
    expect(await control.keys.findOne({ _id: 'k' })).toMatchObject({ version });
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

  it('a store can be blocked, but not unblocked', async () => {
    expect(await say('access', 'active')).toMatchObject({ access_status: 'active' });
    expect(await say('access', 'blocked')).toMatchObject({ access_status: 'blocked' });
    expect(await say('access', 'blocked')).toBeNull();
    expect(await say('access', 'active')).toBeNull();
    // The first event of a store's record wins, as for every record.
    expect(await say('record', 'active')).toMatchObject({ record_status: 'active' });
    expect(await say('record', 'blocked')).toBeNull();
  });
});

it('an erasure that the log restores unblocks no store, and lets its next record decide', async () => {
  await say('record', 'blocked', 7);
  const erasure = { storeId: 's1', sequence: 1, at: new Date(), ends: [] };
  await installation.mongodb.withSession((session) =>
    applyErasure(control, ENVIRONMENT, erasure, session),
  );
  expect(await control.stores.findOne({ store_id: 's1' })).toMatchObject({
    record_status: 'blocked',
    erased: { sequence: 1 },
  });
  expect(await say('record', 'active', 1)).toMatchObject({
    record_status: 'active',
    record_sequence: 1,
  });
});

it('below the highest sequence the first of two with the same sequence wins', async () => {
  expect(await afterAllOf([event('active crm,order a', 5), event('inactive crm a', 5)])).toBe(
    'active crm,order a',
  );
});
