/** Valid and invalid events of the access topic (rules R14.2 to R14.8). */
import { describe, expect, it } from 'vitest';
import { type AccessKeyChange, readAccessChange } from '#shared/events/access-event.ts';
import { timestampText } from '#shared/kafka/record-batch.ts';
import { rejectionOf } from '#test/events.ts';

const ONE = 'a1'.repeat(32);
const TWO = 'b2'.repeat(32);
const THREE = 'c3'.repeat(32);

const ACTIVE = { secret_sha256: [ONE], scopes: ['order'], status: 'active' };

function read(data: unknown, attributes: object = {}) {
  const event = {
    specversion: '1.0',
    id: 'e1',
    source: '/test',
    type: 'store-data.access_key.changed',
    subject: 'k1',
    storeid: 's1',
    sequence: '7',
    time: '2026-01-01T00:00:00Z',
    data,
    ...attributes,
  };
  return readAccessChange({ key: Buffer.from('s1'), value: Buffer.from(JSON.stringify(event)) });
}

const reasonOf = (...event: Parameters<typeof read>) => rejectionOf(() => read(...event))?.reason;

const REVOCATION: AccessKeyChange = {
  kind: 'access_key',
  clientId: 'k1',
  storeId: 's1',
  sequence: 7,
  source: '/test',
  eventId: 'e1',
  secretHashes: null,
  secretExpiry: {},
  scopes: null,
  status: 'revoked',
};

describe('a revocation', () => {
  it.each([
    ['nothing else', {}],
    ['the whole key', { secret_sha256: [ONE, TWO], scopes: ['order', 'crm'] }],
    ['an end of a secret that is no date-time', { secret_expires_at: { [ONE]: 'soon' } }],
    ['a scope of a newer release', { secret_sha256: ONE, scopes: ['order', 'finance'] }],
    ['other types', { secret_sha256: { sha256: ONE }, scopes: 'order', secret_expires_at: [[]] }],
    ['three secrets', { secret_sha256: [ONE, TWO, THREE] }],
    ['deep nesting', { scopes: JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`) as unknown }],
  ])('counts with %s', (_what, rest) => {
    expect(read({ ...rest, status: 'revoked' })).toEqual(REVOCATION);
  });

  it.each([
    ['of a client_id with a colon', { subject: 'k:1' }, 'invalid_attribute'],
    ['of a store that is not the key of the message', { storeid: 's2' }, 'key_mismatch'],
    ['without a sequence', { sequence: undefined }, 'invalid_attribute'],
    ['of another type', { type: 'store-data.access_key.deleted' }, 'unknown_type'],
  ])('%s is poison by the rules of the envelope', (_what, attributes, reason) => {
    expect(reasonOf({ status: 'revoked' }, attributes)).toBe(reason);
  });

  it.each([['Revoked'], [['revoked']], [null]])('needs the exact word, not %j', (status) => {
    expect(reasonOf({ ...ACTIVE, status })).toBe('invalid_data');
  });

  it.each([null, 'revoked'])('needs an object, not %j', (data) => {
    expect(reasonOf(data)).toBe('invalid_data');
  });
});

describe('a key that is not revoked', () => {
  it('is normalized', () => {
    const data = {
      ...ACTIVE,
      secret_sha256: [ONE.toUpperCase(), ONE, TWO].slice(1),
      scopes: ['menu', 'order', 'order'],
      secret_expires_at: { [ONE.toUpperCase()]: '2026-02-01T00:00:00-03:00' },
      unknown: { fields: ['are ignored'] },
    };
    expect(read(data)).toMatchObject({
      secretHashes: [ONE, TWO],
      scopes: ['order', 'menu'],
      secretExpiry: { [ONE]: '2026-02-01T03:00:00.000Z' },
      status: 'active',
    });
  });

  it('may have deadlines that are null or of no secret, like absent ones', () => {
    const absent = read(ACTIVE);
    expect(read({ ...ACTIVE, secret_expires_at: null })).toEqual(absent);
    expect(read({ ...ACTIVE, secret_expires_at: { [ONE]: null } })).toEqual(absent);
    const unknown = { x: ['', '', '', '', '-'], [ONE.slice(1)]: '2026-02-01T00:00:00Z' };
    expect(read({ ...ACTIVE, secret_expires_at: unknown })).toEqual(absent);
    expect(
      read({ ...ACTIVE, secret_expires_at: { [ONE]: null, [TWO]: '2026-02-01T00:00:00Z' } }),
    ).toMatchObject({
      secretExpiry: { [TWO]: '2026-02-01T00:00:00.000Z' },
    });
  });

  it.each([
    ['an unknown scope', { scopes: ['finance'] }],
    ['three secrets', { secret_sha256: [ONE, TWO, THREE] }],
    ['no secrets', { secret_sha256: null }],
    ['no scopes', { scopes: null }],
    ['an end that is no date-time', { secret_expires_at: { [ONE]: 'soon' } }],
    ['an unknown status', { status: 'paused' }],
  ])('is poison with %s', (_what, changes) => {
    for (const status of ['active', 'inactive']) {
      expect(reasonOf({ ...ACTIVE, status, ...changes })).toBe('invalid_data');
    }
  });
});

describe('a quota', () => {
  const quota = (data: unknown, attributes: object = {}) =>
    [data, { type: 'store-data.store_quota.changed', subject: 's1', ...attributes }] as const;

  it.each([
    { requests: 1 },
    { requests: 1_000_000_000, window_seconds: 1 },
    { requests: 5, window_seconds: 86_400 },
  ])('%j is read', (data) => {
    expect(read(...quota(data))).toMatchObject({ kind: 'store_quota', storeId: 's1', quota: data });
    expect(read(...quota({ window_seconds: null, ...data }))).toEqual(read(...quota(data)));
  });

  it('is removed by a deletion without data', () => {
    const event = read(...quota(undefined, { type: 'store-data.store_quota.deleted' }));
    expect(event).toMatchObject({ kind: 'store_quota', quota: null });
  });

  it.each([
    {},
    { requests: 0 },
    { requests: 1_000_000_001 },
    { requests: '5' },
    { requests: 5, window_seconds: 0 },
    { requests: 5, window_seconds: 86_401 },
  ])('%j is poison', (data) => {
    expect(reasonOf(...quota(data))).toBe('invalid_data');
  });

  it('is poison if it names another store than the envelope', () => {
    expect(reasonOf(...quota({ requests: 5 }, { subject: 's2' }))).toBe('invalid_attribute');
  });
});

describe('an erasure', () => {
  const last = { offset: 1, timestamp: -1, digest: 'a'.repeat(22) };
  const erasure = (ends: unknown, attributes: object = {}) =>
    [
      { erased_at: '2026-01-01T00:00:00Z', ends },
      { type: 'store-data.store_erasure.changed', subject: 's1', ...attributes },
    ] as const;

  it('has offsets, and a message that identifies the log', () => {
    const ends = [{ partition: 0, end: 2, last }];
    const at = new Date('2026-01-01T00:00:00Z');
    expect(read(...erasure(ends))).toMatchObject({ kind: 'store_erasure', at, ends });
    expect(read(...erasure([]))).toMatchObject({ ends: [] });
  });

  it.each([-(2 ** 63), 2 ** 63])('may name a message that claims to be of the time %d', (time) => {
    const timestamp = Number(timestampText(time));
    const ends = [{ partition: 0, end: 2, last: { ...last, timestamp } }];
    expect(read(...erasure(ends))).toMatchObject({ ends });
  });

  it.each([
    ['without the message', [{ partition: 0, end: 2 }]],
    ['with a digest of another length', [{ partition: 0, end: 2, last: { ...last, digest: 'a' } }]],
    ['with no end', undefined],
  ])('%s is poison', (_, ends) => {
    expect(reasonOf(...erasure(ends))).toBe('invalid_data');
  });

  it('cannot be deleted', () => {
    expect(reasonOf(...erasure([], { type: 'store-data.store_erasure.deleted' }))).toBe(
      'unknown_type',
    );
  });
});
