import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateKeyPair, exportJWK } from 'jose';
import { describe, expect, it } from 'vitest';
import { newSigningKey } from '#shared/access/signing-key-set.ts';
import { loadSigningKeys } from '#query/token/signing-keys.ts';

const settings = { issuer: 'i', audience: 'a', lifetimeSeconds: 1, signingKeys: null, signingKeysFile: null };
const load = (signingKeys: string) => loadSigningKeys({ ...settings, signingKeys });

describe('newSigningKey', () => {
  it('makes no kid that a command would take for an option', async () => {
    const keys = await Promise.all(Array.from({ length: 300 }, newSigningKey));
    expect(keys.filter(({ kid }) => kid.startsWith('-'))).toEqual([]);
  });
});

describe('loadSigningKeys', () => {
  it('takes a set inline or from a file', async () => {
    const jwk = await newSigningKey();
    const text = JSON.stringify({ keys: [jwk] });
    expect((await load(text)).signing.kid).toBe(jwk.kid);
    const folder = await mkdtemp(join(tmpdir(), 'store-data-keys-'));
    try {
      const signingKeysFile = join(folder, 'keys.json');
      await writeFile(signingKeysFile, text);
      expect((await loadSigningKeys({ ...settings, signingKeysFile })).signing.kid).toBe(jwk.kid);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('says how to give keys where there are none', async () => {
    await expect(loadSigningKeys(settings)).rejects.toThrow(/SIGNING_KEYS_FILE/);
    await expect(loadSigningKeys({ ...settings, signingKeysFile: '/nowhere' })).rejects.toThrow(/\/nowhere/);
  });

  it('refuses what is no set of private P-256 keys, without quoting it', async () => {
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
