import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { sessionOfToken } from '#admin/commands/sessions/revoke.ts';
import { createTokens, loadSigningKeys } from '#query/access/tokens.ts';
import { newSigningKey } from '#shared/access/signing-key-set.ts';

const SETTINGS = { issuer: 'i', audience: 'a', lifetimeSeconds: 900, signingKeysFile: null };

async function foreignToken(claims: Record<string, unknown>, typ = 'at+jwt'): Promise<string> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  await exportJWK(privateKey);
  return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', typ }).sign(privateKey);
}

describe('the session of a token', () => {
  const sessionId = '0123456789abcdef0123456789abcdef';
  const good = {
    jti: sessionId,
    exp: 2_000_000_000,
    client_id: 'c',
    store_id: 's1',
    environment: 'production',
  };

  it('is read from a token that the service issued', async () => {
    const signingKeys = JSON.stringify({ keys: [await newSigningKey()] });
    const keys = await loadSigningKeys({ ...SETTINGS, signingKeys });
    const token = await createTokens(() => keys, { ...SETTINGS, signingKeys }).issue({
      sessionId,
      clientId: 'client',
      storeId: 's1',
      environment: 'production',
      scopes: ['order'],
    });
    expect(sessionOfToken(token)).toMatchObject({
      id: sessionId,
      clientId: 'client',
      storeId: 's1',
      environment: 'production',
    });
  });

  it.each([
    ['no jti', { ...good, jti: undefined }],
    ['a jti of another shape', { ...good, jti: '../../x' }],
    ['no exp', { ...good, exp: undefined }],
    ['a client_id with a colon', { ...good, client_id: 'a:b' }],
    ['a store that is no id', { ...good, store_id: 's{1}' }],
    ['no environment', { ...good, environment: 7 }],
  ])('is none with %s', async (_what, claims) => {
    expect(sessionOfToken(await foreignToken(claims))).toBeNull();
  });

  it('is none of another kind of token, nor of anything else', async () => {
    expect(sessionOfToken(await foreignToken(good))).not.toBeNull();
    expect(sessionOfToken(await foreignToken(good, 'JWT'))).toBeNull();
    for (const text of ['', 'a', 'a.b.c', '{}']) expect(sessionOfToken(text)).toBeNull();
  });
});
