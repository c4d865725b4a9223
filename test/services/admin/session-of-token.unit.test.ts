import { generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { sessionOfToken } from '#admin/commands/sessions.ts';

async function foreignToken(claims: Record<string, unknown>, typ = 'at+jwt'): Promise<string> {
  const { privateKey } = await generateKeyPair('ES256');
  return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', typ }).sign(privateKey);
}

describe('the session of a token', () => {
  const sessionId = '0123456789abcdef0123456789abcdef';
  const bound = { store_id: 's1', environment: 'production' };
  const good = { jti: sessionId, exp: 2_000_000_000, client_id: 'c', ...bound };

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
    expect(sessionOfToken(await foreignToken(good))).toMatchObject({ _id: sessionId, client_id: 'c' });
    expect(sessionOfToken(await foreignToken(good, 'JWT'))).toBeNull();
    for (const text of ['', 'a', 'a.b.c', '{}']) expect(sessionOfToken(text)).toBeNull();
  });
});
