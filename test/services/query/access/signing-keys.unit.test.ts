import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exportJWK, generateKeyPair } from 'jose';
import { afterEach, describe, expect, it } from 'vitest';
import { newSigningKey, printKeySet } from '#shared/access/signing-key-set.ts';
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
const load = (signingKeys: string) => loadSigningKeys({ ...settings, signingKeys });

describe('newSigningKey', () => {
  it('makes no kid that looks like an option', async () => {
    const keys = await Promise.all(Array.from({ length: 300 }, newSigningKey));
    expect(keys.filter(({ kid }) => kid.startsWith('-'))).toEqual([]);
  });
});

const folder = useFolder({ ofEachTest: true });

describe('loadSigningKeys', () => {
  it('accepts a set inline or from a file', async () => {
    const jwk = await newSigningKey();
    const text = JSON.stringify({ keys: [jwk] });
    expect((await load(text)).signing.kid).toBe(jwk.kid);
    const signingKeysFile = join(folder, 'keys.json');
    await writeFile(signingKeysFile, text);
    expect((await loadSigningKeys({ ...settings, signingKeysFile })).signing.kid).toBe(jwk.kid);
  });

  it('says how to configure keys if there are none', async () => {
    await expect(loadSigningKeys(settings)).rejects.toThrow(/SIGNING_KEYS_FILE/);
    await expect(loadSigningKeys({ ...settings, signingKeysFile: '/nowhere' })).rejects.toThrow(
      /\/nowhere/,
    );
  });

  it('refuses anything but a set of private P-256 keys, without quoting it', async () => {
    const good = await newSigningKey();
    const { d: secret, ...publicOnly } = good;
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    for (const text of [
      '',
      'nonsense',
      '{}',
      '{"keys":[]}',
      '{"keys":[1]}',
      JSON.stringify(good),
      JSON.stringify({ keys: [publicOnly] }),
      JSON.stringify({ keys: [await exportJWK(privateKey)] }),
      JSON.stringify({ keys: [{ ...good, d: `${secret?.slice(1)}!` }] }),
      JSON.stringify({ keys: [good, good] }),
    ]) {
      const error: unknown = await load(text).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'config_invalid' });
      expect(String(error)).not.toContain(secret?.slice(1, 20));
    }
  });
});

let watched: WatchedKeys | null = null;
let logged: string[] = [];
const logger = createLogger('test', 'info', { write: (line: string) => logged.push(line) });
afterEach(async () => {
  await watched?.stop();
  logged = [];
});

const watch = async (signingKeysFile: string): Promise<WatchedKeys> =>
  (watched = await watchSigningKeys({ ...settings, signingKeysFile }, logger, 20));
const kidsOf = (keys: WatchedKeys) => [...keys.verifying.keys()];

describe('the keys of a file', () => {
  it('are reloaded when the file is written, or replaced by a rename', async () => {
    const [a, b, c] = await Promise.all([newSigningKey(), newSigningKey(), newSigningKey()]);
    const file = join(folder, 'keys.json');
    await writeFile(file, printKeySet([a]));
    const keys = await watch(file);
    expect(kidsOf(keys)).toEqual([a.kid]);
    await writeFile(file, printKeySet([b, a]));
    await eventually('the second key is there', () => keys.verifying.has(b.kid));
    expect(keys.signing.kid).toBe(b.kid);
    await writeFile(join(folder, 'next'), printKeySet([c]));
    await rename(join(folder, 'next'), file);
    await eventually('the first two are gone', () => kidsOf(keys).join() === c.kid);
  });

  it('are reloaded when Kubernetes swaps the links of a secret', async () => {
    const [a, b] = await Promise.all([newSigningKey(), newSigningKey()]);
    for (const [name, key] of [
      ['..2026_1', a],
      ['..2026_2', b],
    ] as const) {
      await mkdir(join(folder, name));
      await writeFile(join(folder, name, 'keys.json'), printKeySet([key]));
    }
    await symlink('..2026_1', join(folder, '..data'));
    await symlink(join('..data', 'keys.json'), join(folder, 'keys.json'));
    const keys = await watch(join(folder, 'keys.json'));
    expect(kidsOf(keys)).toEqual([a.kid]);
    await symlink('..2026_2', join(folder, '..data_tmp'));
    await rename(join(folder, '..data_tmp'), join(folder, '..data'));
    await rm(join(folder, '..2026_1'), { recursive: true });
    await eventually('the other secret is read', () => kidsOf(keys).join() === b.kid);
  });

  it('stay in use while the file is invalid or missing, which is logged once and measured', async () => {
    const [a, b] = await Promise.all([newSigningKey(), newSigningKey()]);
    const file = join(folder, 'keys.json');
    await writeFile(file, printKeySet([a]));
    const keys = await watch(file);
    const { registry } = createMetrics(keys);
    const current = async () =>
      /^store_data_signing_keys_current (\d)/m.exec(await registry.metrics())?.[1];
    expect(await current()).toBe('1');
    const errors = () => logged.filter((line) => line.includes('"level":50'));

    await writeFile(file, printKeySet([{ ...b, d: `${b.d.slice(1)}!` }]));
    await eventually('that is noticed', () => errors().length === 1);
    expect([kidsOf(keys), keys.signing.kid, await current()]).toEqual([[a.kid], a.kid, '0']);
    await rm(file);
    await eventually('that is noticed, too', () => errors().length === 2);
    expect(errors().join()).not.toContain(b.d.slice(1, 20));
    // The same content as before.
    await writeFile(file, printKeySet([a]));
    await eventually('it is well again', () => keys.isCurrent);
    expect(kidsOf(keys)).toEqual([a.kid]);
    await writeFile(file, printKeySet([b]));
    await eventually('the new key is there', () => kidsOf(keys).join() === b.kid);
    expect([await current(), errors().length]).toEqual(['1', 2]);
  });

  it('sign from their activation time on, without a reload', async () => {
    const [a, b] = await Promise.all([newSigningKey(), newSigningKey()]);
    const file = join(folder, 'keys.json');
    const nbf = Math.floor(Date.now() / 1_000) + 1;
    await writeFile(file, printKeySet([{ ...b, nbf }, a]));
    const keys = await watch(file);
    await watched?.stop();
    if (Date.now() < nbf * 1_000 - 50) expect(keys.signing.kid).toBe(a.kid);
    await eventually('the new key signs', () => keys.signing.kid === b.kid);
    expect(Date.now()).toBeGreaterThanOrEqual(nbf * 1_000);
  });
});
