/** Keys: one with all scopes for each store and environment, and one that may do less. */
import { expect, test } from 'vitest';
import { makeKeys } from '#local/start/keys.ts';

test('every store has a key with all scopes in every environment', () => {
  const keys = makeKeys(['s1', 's2'], ['production', 'sandbox']);
  const whole = keys.filter(({ scopes }) => scopes.join(' ') === 'store crm order menu');
  expect(whole.map(({ environment, store_id }) => `${environment}/${store_id}`)).toEqual([
    'production/s1',
    'production/s2',
    'sandbox/s1',
    'sandbox/s2',
  ]);
  expect(keys.at(-1)).toMatchObject({ store_id: 's1', environment: 'production', scopes: ['order'] });
});

test('ids and secrets are unique and hold letters and digits only', () => {
  const keys = makeKeys(['s1', 's2', 's3'], ['production', 'sandbox']);
  expect(new Set(keys.map(({ client_id }) => client_id)).size).toBe(keys.length);
  expect(new Set(keys.map(({ client_secret }) => client_secret)).size).toBe(keys.length);
  for (const { client_id, client_secret } of keys)
    expect(client_id + client_secret).toMatch(/^[A-Za-z0-9]+$/);
});
