import { beforeAll, describe, expect, it } from 'vitest';
import { storeAccessEvent } from '#test/events.ts';
import { type Answer, TOKEN_PATH } from '#test/api-client.ts';
import { useQueryService } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';

const service = useQueryService({ settings: { TOKEN_LIFETIME_SECONDS: '600' } });

beforeAll(async () => {
  const { setKey } = service;
  await setKey({ clientId: 'full' });
  await setKey({ clientId: 'some', scopes: ['order', 'crm'] });
  await setKey({ clientId: 'none', scopes: [] });
  await setKey({ clientId: 'off', status: 'inactive' });
  await setKey({ clientId: 'gone', status: 'revoked' });
  await setKey({ clientId: 'two', secrets: ['old', 'new'] });
  await setKey({ clientId: 'i%2Dd +', secrets: ['s%2Bt +%'] });
  await setKey({ clientId: 'colon', secrets: ['a:b', '100%'] });
  await setKey({ clientId: 'locked', storeId: 'locked' });
  await service.installation.publishAccess([storeAccessEvent('locked', 1, 'blocked')]);
  await eventually('the store is blocked', async () => {
    return (await service.api.askToken('locked', 'secret')).status === 400;
  });
});

const errorOf = ({ status, json }: Answer) => [status, (json as { error?: string }).error];
const post = (headers: Record<string, string>, body: string, path = TOKEN_PATH) =>
  service.api.call(path, { method: 'POST', headers, body });
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
const GRANT = 'grant_type=client_credentials';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const FULL = { ...FORM, authorization: basic('full:secret') };

describe('a token', () => {
  it('is issued with all scopes of the key, in a fixed order', async () => {
    const answer = await service.api.askToken('full', 'secret');
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      token_type: 'Bearer',
      expires_in: 600,
      scope: 'store crm order menu',
    });
    expect(answer.headers.get('pragma')).toBe('no-cache');
  });

  it.each([
    ['some', GRANT, 'crm order'],
    ['some', 'scope=order+crm&grant_type=client_credentials', 'crm order'],
    ['full', `${GRANT}&scope=menu%20store&unknown=x`, 'store menu'],
    ['none', GRANT, ''],
    ['some', `${GRANT}&scope=crm&grant_type=&scope=`, 'crm'],
    ['some', `${GRANT}&client_id=&client_secret=`, 'crm order'],
    ['full', `${GRANT}&scope=menu+menu+order+menu`, 'order menu'],
    ['full', 'grant_type=client%5Fcredentials&sc%6Fpe=m%65nu', 'menu'],
  ])('for %s with %s has the scope "%s"', async (clientId, form, scope) => {
    const answer = await service.api.askToken(clientId, 'secret', form);
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ scope });
  });

  it('is issued whatever the case, blanks and parameters of the headers, and for other parameters in the URL', async () => {
    const headers = {
      'content-type': 'Application/X-WWW-Form-URLEncoded ; charset="utf-8"; x=y',
      authorization: basic('two:new').replace('Basic ', 'bAsIC   ').replace(/=+$/, ''),
    };
    const path = `${TOKEN_PATH}?x=1&x=2&%zz&grant_type=password&client_id=`;
    expect((await post(headers, GRANT, path)).status).toBe(200);
  });

  it('is another at each call, with each of two secrets', async () => {
    const tokens = ['old', 'old', 'new'].map((secret) => service.api.token('two', secret));
    expect(new Set(await Promise.all(tokens)).size).toBe(3);
  });

  it.each([
    ['i%2Dd +:s%2Bt +%'],
    [`${encodeURIComponent('i%2Dd +')}:${encodeURIComponent('s%2Bt +%')}`],
    ['colon:a:b'],
    ['colon:100%'],
  ])('is issued for raw or form-encoded credentials: %s', async (credentials) => {
    const answer = await post({ ...FORM, authorization: basic(credentials) }, GRANT);
    expect(answer.status).toBe(200);
  });
});

describe('400 invalid_request', () => {
  it.each([
    [
      'another content type',
      { ...FULL, 'content-type': 'application/json' },
      '{"grant_type":"client_credentials"}',
    ],
    ['no grant_type', FULL, 'scope=order'],
    ['a repeated parameter', FULL, `${GRANT}&grant_type=client_credentials`],
    ['malformed percent-encoding', FULL, `${GRANT}&scope=%zz`],
    ['bytes that are not UTF-8', FULL, `${GRANT}&scope=%ff`],
    ['client_id in the body', FULL, `${GRANT}&client_id=full`],
    ['a raw NUL', FULL, `${GRANT}\0`],
    ['a raw tab between scopes', FULL, `${GRANT}&scope=order\tcrm`],
    ['a name that is repeated in another spelling', FULL, `${GRANT}&scope=menu&sc%6Fpe=menu`],
    [
      'text under a content type that only begins right',
      { ...FULL, 'content-type': `${FORM['content-type']}x` },
      GRANT,
    ],
    ['a compressed body', { ...FULL, 'content-encoding': 'gzip' }, '\u001f%8b'],
  ])('%s', async (_what, headers, body) => {
    expect(errorOf(await post(headers, body))).toEqual([400, 'invalid_request']);
  });

  it('no content type', async () => {
    const answer = await service.api.call(TOKEN_PATH, {
      method: 'POST',
      headers: { authorization: basic('full:secret') },
      body: new Uint8Array(Buffer.from(GRANT)),
    });
    expect(errorOf(answer)).toEqual([400, 'invalid_request']);
  });

  it.each([
    '?client_secre%74=secret',
    '?x=%zz&client_id=x',
    '?client_secret=50%off',
    '?client_id=k&client_id=',
  ])('credentials in the address: %s', async (query) => {
    const answer = await post(FULL, GRANT, TOKEN_PATH + query);
    expect(errorOf(answer)).toEqual([400, 'invalid_request']);
  });

  it('the grant type in the address only', async () => {
    const answer = await post(FULL, '', `${TOKEN_PATH}?grant_type=client_credentials`);
    expect(errorOf(answer)).toEqual([400, 'invalid_request']);
  });
});

describe('401 invalid_client', () => {
  it.each([
    ['no credentials', undefined],
    ['a wrong secret', basic('full:wrong')],
    ['an unknown client', basic('nobody:secret')],
    ['a revoked key', basic('gone:secret')],
    ['malformed base64', 'Basic ***'],
    ['a secret with something behind it', basic('full:secret ')],
    ['a client in another case', basic('FULL:secret')],
    [
      'credentials encoded twice',
      basic(encodeURIComponent(encodeURIComponent('i%2Dd +:s%2Bt +%'))),
    ],
    ['no colon', basic('full')],
    ['bytes that are not UTF-8', `Basic ${Buffer.from([0x66, 0x3a, 0xff]).toString('base64')}`],
  ])('%s', async (_what, authorization) => {
    const headers = authorization === undefined ? FORM : { ...FORM, authorization };
    const answer = await post(headers, GRANT);
    expect(errorOf(answer)).toEqual([401, 'invalid_client']);
    // The same words for every reason.
    expect(answer.json).toMatchObject({ detail: 'client authentication failed' });
  });
});

describe('400 for an authenticated client', () => {
  it.each([
    ['an inactive key', 'off', GRANT, 'unauthorized_client'],
    ['a store that is blocked', 'locked', GRANT, 'unauthorized_client'],
    ['another grant type', 'full', 'grant_type=password', 'unsupported_grant_type'],
    ['an unknown scope', 'full', `${GRANT}&scope=admin`, 'invalid_scope'],
    ['a scope that is not granted', 'some', `${GRANT}&scope=order+menu`, 'invalid_scope'],
    ['a blank scope', 'full', `${GRANT}&scope=+`, 'invalid_scope'],
    ['scopes with a tab between', 'full', `${GRANT}&scope=order%09crm`, 'invalid_scope'],
  ])('%s', async (_what, clientId, form, error) => {
    expect(errorOf(await service.api.askToken(clientId, 'secret', form))).toEqual([400, error]);
  });
});

describe('the order of checks', () => {
  it.each([
    ['the form before the client', 'full:wrong', 'scope=order', 400, 'invalid_request'],
    ['the client before the blocking of its store', 'locked:wrong', GRANT, 401, 'invalid_client'],
    [
      'the revocation before the grant type',
      'gone:secret',
      'grant_type=password',
      401,
      'invalid_client',
    ],
    [
      'the key’s status before the grant type',
      'off:secret',
      'grant_type=password',
      400,
      'unauthorized_client',
    ],
    [
      'the grant type before the scope',
      'full:secret',
      'grant_type=password&scope=x',
      400,
      'unsupported_grant_type',
    ],
  ])('%s', async (_what, credentials, form, status, error) => {
    expect(errorOf(await post({ ...FORM, authorization: basic(credentials) }, form))).toEqual([
      status,
      error,
    ]);
  });
});

it('the endpoint refuses other methods', async () => {
  for (const method of ['GET', 'HEAD', 'PUT', 'OPTIONS']) {
    const { status, headers } = await service.api.call(TOKEN_PATH, { method });
    expect([status, headers.get('allow')]).toEqual([405, 'POST']);
  }
});
