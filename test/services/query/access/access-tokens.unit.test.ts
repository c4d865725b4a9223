import { createPublicKey } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { newSigningKey } from '#shared/access/signing-key-set.ts';
import { loadSigningKeys, type SigningKeys, createTokens } from '#query/access/tokens.ts';

const settings = {
  issuer: 'i',
  audience: 'a',
  lifetimeSeconds: 10,
  signingKeys: null,
  signingKeysFile: null,
};
const claims = {
  sessionId: 'j1',
  clientId: 'k1',
  storeId: 's1',
  environment: 'e1',
  scopes: ['crm', 'order'] as ('crm' | 'order')[],
};

const load = (...jwks: object[]) =>
  loadSigningKeys({ ...settings, signingKeys: JSON.stringify({ keys: jwks }) });

let old: Awaited<ReturnType<typeof newSigningKey>>;
let keys: SigningKeys;

beforeAll(async () => {
  old = await newSigningKey();
  keys = await load(old);
});
afterEach(() => vi.useRealTimers());

describe('a token', () => {
  it('has the claims of RFC 9068', async () => {
    const token = await createTokens(keys, settings).issue(claims);
    expect(decodeProtectedHeader(token)).toEqual({
      alg: 'ES256',
      typ: 'at+jwt',
      kid: keys.signing.kid,
    });
    expect(decodeJwt(token)).toMatchObject({
      iss: 'i',
      aud: 'a',
      sub: 'k1',
      client_id: 'k1',
      jti: 'j1',
      store_id: 's1',
      environment: 'e1',
      scope: 'crm order',
    });
  });

  it('is valid exactly until its expiry, even if cached', async () => {
    vi.useFakeTimers({ now: 1_000_000_000_900, toFake: ['Date'] });
    const tokens = createTokens(keys, settings);
    const token = await tokens.issue(claims);
    vi.setSystemTime(1_000_000_010_899);
    const verified = await tokens.verify(token);
    if (verified === null) throw new Error('it is valid');
    tokens.remember(token, verified);
    expect(await tokens.verify(token)).toBe(verified);
    vi.setSystemTime(1_000_000_011_001);
    expect(await tokens.verify(token)).toBeNull();
    expect(await createTokens(keys, settings).verify(token)).toBeNull();
  });
});

it('names its store as the sender of later requests only while it passes', async () => {
  const tokens = createTokens(keys, settings);
  const token = await tokens.issue(claims);
  const verified = await tokens.verify(token);
  if (verified === null) throw new Error('it is valid');
  // Redis may still refuse it.
  expect(tokens.verifiedBefore(token)).toBeUndefined();
  tokens.remember(token, verified);
  expect(tokens.verifiedBefore(token)).toBe(verified);
  expect(await tokens.verify(token)).toBe(verified);
  tokens.forget(token);
  expect(tokens.verifiedBefore(token)).toBeUndefined();
});

it('is not remembered if its key is removed before it passes', async () => {
  const mutable = { signing: keys.signing, verifying: keys.verifying };
  const tokens = createTokens(mutable as typeof keys, settings);
  const token = await tokens.issue(claims);
  const verified = await tokens.verify(token);
  if (verified === null) throw new Error('it is valid');
  mutable.verifying = new Map();
  // Another request notices the change first.
  expect(await tokens.verify('x')).toBeNull();
  tokens.remember(token, verified);
  expect(await tokens.verify(token)).toBeNull();
});

it('has a standard signature', async () => {
  const key = createPublicKey({ key: { ...old }, format: 'jwk' });
  await expect(
    jwtVerify(await createTokens(keys, settings).issue(claims), key),
  ).resolves.toBeDefined();
});
