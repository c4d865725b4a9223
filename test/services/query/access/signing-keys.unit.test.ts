import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exportJWK, generateKeyPair } from 'jose';
import { afterEach, describe, expect, it } from 'vitest';
import { newSigningKey } from '#shared/access/signing-key-set.ts';
import { loadSigningKeys, type WatchedKeys, watchSigningKeys } from '#query/access/tokens.ts';
import { createMetrics } from '#query/metrics.ts';
import { createLogger } from '#shared/logging.ts';
import { useFolder } from '#test/folder.ts';
import { eventually } from '#test/eventually.ts';

const settings = {
  issuer: 'i',
  audience: 'a',
  lifetimeSeconds: 1,
  signingKeys: null,
  signingKeysFile: null,
};
const [a, b] = [await newSigningKey(), await newSigningKey()];
const load = (signingKeys: string) => loadSigningKeys({ ...settings, signingKeys });

it('a new key has no kid that looks like an option', async () => {
  const keys = await Promise.all(Array.from({ length: 300 }, newSigningKey));
  expect(keys.filter(({ kid }) => kid.startsWith('-'))).toEqual([]);
});

it('anything but a set of private P-256 keys is refused, without quoting it', async () => {
  const { d: secret, ...publicOnly } = a;
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const sets = [
    [],
    [1],
    [publicOnly],
    [await exportJWK(privateKey)],
    [{ ...a, d: `${secret.slice(1)}!` }],
    [a, a],
  ].map((keys) => JSON.stringify({ keys }));
  for (const text of ['', '{}', JSON.stringify(a), ...sets]) {
    const error: unknown = await load(text).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'config_invalid' });
    expect(String(error)).not.toContain(secret.slice(1, 20));
  }
});

const folder = useFolder({ ofEachTest: true });
const write = (keys: object[], name = 'keys.json') =>
  writeFile(join(folder, name), JSON.stringify({ keys }));
let watched: WatchedKeys | null = null;
let logged: string[] = [];
const logger = createLogger('test', 'info', { write: (line: string) => logged.push(line) });
afterEach(async () => {
  await watched?.stop();
  logged = [];
});

const watch = async () => {
  const signingKeysFile = join(folder, 'keys.json');
  return (watched = await watchSigningKeys({ ...settings, signingKeysFile }, logger, 20));
};
const kidsOf = (keys: WatchedKeys) => [...keys.verifying.keys()];

describe('the keys of a file', () => {
  it('are reloaded when Kubernetes swaps the links of a secret', async () => {
    for (const name of ['..2026_1', '..2026_2']) await mkdir(join(folder, name));
    await write([a], '..2026_1/keys.json');
    await write([b], '..2026_2/keys.json');
    await symlink('..2026_1', join(folder, '..data'));
    await symlink('..data/keys.json', join(folder, 'keys.json'));
    const keys = await watch();
    expect(kidsOf(keys)).toEqual([a.kid]);
    await symlink('..2026_2', join(folder, '..data_tmp'));
    await rename(join(folder, '..data_tmp'), join(folder, '..data'));
    await rm(join(folder, '..2026_1'), { recursive: true });
    await eventually('the other secret is read', () => kidsOf(keys).join() === b.kid);
  });

  it('stay in use while the file is invalid or missing, which is logged once and measured', async () => {
    await write([a]);
    const keys = await watch();
    const { registry } = createMetrics(keys);
    const current = async () =>
      /^store_data_signing_keys_current (\d)/m.exec(await registry.metrics())?.[1];
    const errors = () => logged.filter((line) => line.includes('"level":50'));

    await write([{ ...b, d: `${b.d.slice(1)}!` }]);
    await eventually('that is noticed', () => errors().length === 1);
    expect([kidsOf(keys), keys.signing.kid, await current()]).toEqual([[a.kid], a.kid, '0']);
    await rm(join(folder, 'keys.json'));
    await eventually('that is noticed, too', () => errors().length === 2);
    expect(errors().join()).not.toContain(b.d.slice(1, 20));
    // The same content as before.
    await write([a]);
    await eventually('it is well again', () => keys.isCurrent);
    await write([b]);
    await eventually('the new key is there', () => kidsOf(keys).join() === b.kid);
    expect([await current(), errors().length]).toEqual(['1', 2]);
  });

  it('sign from their activation time on, without a reload', async () => {
    const nbf = Math.floor(Date.now() / 1_000) + 1;
    await write([{ ...b, nbf }, a]);
    const keys = await watch();
    await watched?.stop();
    if (Date.now() < nbf * 1_000 - 50) expect(keys.signing.kid).toBe(a.kid);
    await eventually('the new key signs', () => keys.signing.kid === b.kid);
    expect(Date.now()).toBeGreaterThanOrEqual(nbf * 1_000);
  });
});
