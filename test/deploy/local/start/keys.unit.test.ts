/** Keys: one with all scopes for each store and environment, and one that may do less. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { keySeed, makeKeys } from '#local/start/keys.ts';

test('every store has a key with all scopes in every environment', () => {
  const keys = makeKeys(['s1', 's2'], ['production', 'sandbox'], 'seed');
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
  const keys = makeKeys(['s1', 's2', 's3'], ['production', 'sandbox'], 'seed');
  expect(new Set(keys.map(({ client_id }) => client_id)).size).toBe(keys.length);
  expect(new Set(keys.map(({ client_secret }) => client_secret)).size).toBe(keys.length);
  for (const { client_id, client_secret } of keys)
    expect(`${client_id} ${client_secret}`).toMatch(/^[A-Za-z0-9]{24} [A-Za-z0-9]{43}$/);
});

test('keys are the same in every run of one user, and of nobody else', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'store-data-seed-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const cache = join(folder, 'cache');
  const seed = await keySeed(cache);
  expect(await keySeed(cache)).toBe(seed);
  expect(statSync(join(cache, 'demo-keys-seed')).mode & 0o777).toBe(0o600);
  expect(makeKeys(['s1'], ['production'], seed)).toEqual(makeKeys(['s1'], ['production'], seed));
  const other = await keySeed(join(folder, 'other'));
  expect(makeKeys(['s1'], ['production'], other)[0]?.client_id).not.toBe(
    makeKeys(['s1'], ['production'], seed)[0]?.client_id,
  );
  // Where nothing can be kept, there are keys all the same.
  writeFileSync(join(folder, 'file'), '');
  expect(await keySeed(join(folder, 'file/cache'))).toMatch(/^[A-Za-z0-9]{43}$/);
});
