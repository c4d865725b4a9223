import { createPublicKey } from 'node:crypto';
import { jwtVerify } from 'jose';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { newSigningKey, printKeySet } from '#shared/access/signing-key-set.ts';
import { loadSigningKeys, createTokens } from '#query/access/tokens.ts';

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

const jwk = await newSigningKey();
const keys = await loadSigningKeys({ ...settings, signingKeys: printKeySet([jwk]) });
afterEach(() => vi.useRealTimers());

/** A new token, and its verified claims. */
async function verified(tokens = createTokens(keys, settings)) {
  const token = await tokens.issue(claims);
  const found = await tokens.verify(token);
  if (found === null) throw new Error('it is not valid');
  return { tokens, token, found };
}

describe('a token', () => {
  it('has the claims of RFC 9068', async () => {
    const token = await createTokens(keys, settings).issue(claims);
    const key = createPublicKey({ key: { ...jwk }, format: 'jwk' });
    const { protectedHeader, payload } = await jwtVerify(token, key);
    expect(protectedHeader).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: jwk.kid });
    expect(payload).toMatchObject({
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
    const { tokens, token, found } = await verified();
    vi.setSystemTime(1_000_000_010_899);
    tokens.remember(token, found);
    expect(await tokens.verify(token)).toBe(found);
    expect(await createTokens(keys, settings).verify(token)).toEqual(found);
    vi.setSystemTime(1_000_000_011_001);
    expect(await tokens.verify(token)).toBeNull();
    expect(await createTokens(keys, settings).verify(token)).toBeNull();
  });
});

it('names its store as the sender of later requests only while it passes', async () => {
  const { tokens, token, found } = await verified();
  // Redis may still refuse it.
  expect(tokens.verifiedBefore(token)).toBeUndefined();
  tokens.remember(token, found);
  expect(tokens.verifiedBefore(token)).toBe(found);
  tokens.forget(token);
  expect(tokens.verifiedBefore(token)).toBeUndefined();
});

it('is not remembered if its key is removed before it passes', async () => {
  const mutable = { signing: keys.signing, verifying: keys.verifying };
  const { tokens, token, found } = await verified(createTokens(mutable as typeof keys, settings));
  mutable.verifying = new Map();
  // Another request notices the change first.
  expect(await tokens.verify('x')).toBeNull();
  tokens.remember(token, found);
  expect(await tokens.verify(token)).toBeNull();
});
