import { beforeAll, describe, expect, it } from 'vitest';
import { storeAccessEvent } from '#test/events.ts';
import { TOKEN_PATH } from '#test/api-client.ts';
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

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
const GRANT = 'grant_type=client_credentials';
const FORM = 'application/x-www-form-urlencoded';

interface Asked {
  credentials?: string;
  /** In place of the usual ones. */
  headers?: Record<string, string>;
  form?: string | Uint8Array<ArrayBuffer>;
  query?: string;
}

/** Requests a token, with all that is not named as it should be. */
const ask = ({ credentials = 'full:secret', headers, form = GRANT, query = '' }: Asked) =>
  service.api.call(TOKEN_PATH + query, {
    method: 'POST',
    headers: headers ?? { 'content-type': FORM, authorization: basic(credentials) },
    body: form,
  });

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
    const query = '?x=1&x=2&%zz&grant_type=password&client_id=';
    expect((await ask({ headers, query })).status).toBe(200);
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
    expect((await ask({ credentials })).status).toBe(200);
  });
});

describe.each<[status: number, error: string, requests: Record<string, Asked>]>([
  [
    400,
    'invalid_request',
    {
      'no content type': {
        headers: { authorization: basic('full:secret') },
        form: new Uint8Array(Buffer.from(GRANT)),
      },
      'a content type that only begins right': {
        headers: { 'content-type': `${FORM}x`, authorization: basic('full:secret') },
      },
      'a compressed body': {
        headers: {
          'content-type': FORM,
          authorization: basic('full:secret'),
          'content-encoding': 'gzip',
        },
        form: '\u001f%8b',
      },
      'no grant_type, also with a wrong secret': { credentials: 'full:wrong', form: 'scope=order' },
      'the grant type in the address only': { form: '', query: `?${GRANT}` },
      'a repeated parameter, in another spelling': { form: `${GRANT}&scope=menu&sc%6Fpe=menu` },
      'malformed percent-encoding': { form: `${GRANT}&scope=%zz` },
      'bytes that are not UTF-8': { form: `${GRANT}&scope=%ff` },
      'a raw NUL': { form: `${GRANT}\0` },
      'a raw tab between scopes': { form: `${GRANT}&scope=order\tcrm` },
      'client_id in the body': { form: `${GRANT}&client_id=full` },
      'client_secret in the address': { query: '?client_secre%74=secret' },
      'client_id after what cannot be decoded': { query: '?x=%zz&client_id=x' },
      'a client_secret that cannot be decoded': { query: '?client_secret=50%off' },
      'client_id twice': { query: '?client_id=k&client_id=' },
    },
  ],
  [
    401,
    'invalid_client',
    {
      'no credentials': { headers: { 'content-type': FORM } },
      'a wrong secret': { credentials: 'full:wrong' },
      'a wrong secret for a blocked store': { credentials: 'locked:wrong' },
      'an unknown client': { credentials: 'nobody:secret' },
      'a revoked key, also with another grant type': {
        credentials: 'gone:secret',
        form: 'grant_type=password',
      },
      'malformed base64': { headers: { 'content-type': FORM, authorization: 'Basic ***' } },
      'a secret with something behind it': { credentials: 'full:secret ' },
      'a client in another case': { credentials: 'FULL:secret' },
      'credentials encoded twice': {
        credentials: encodeURIComponent(encodeURIComponent('i%2Dd +:s%2Bt +%')),
      },
      'no colon': { credentials: 'full' },
      'bytes that are not UTF-8': {
        headers: { 'content-type': FORM, authorization: 'Basic Zjr/' },
      },
    },
  ],
  [
    400,
    'unauthorized_client',
    {
      'an inactive key, also with another grant type': {
        credentials: 'off:secret',
        form: 'grant_type=password',
      },
      'a blocked store': { credentials: 'locked:secret' },
    },
  ],
  [
    400,
    'unsupported_grant_type',
    { 'another grant type, also with a wrong scope': { form: 'grant_type=password&scope=x' } },
  ],
  [
    400,
    'invalid_scope',
    {
      'an unknown scope': { form: `${GRANT}&scope=admin` },
      'a scope that is not granted': {
        credentials: 'some:secret',
        form: `${GRANT}&scope=order+menu`,
      },
      'a blank scope': { form: `${GRANT}&scope=+` },
      'scopes with a tab between': { form: `${GRANT}&scope=order%09crm` },
    },
  ],
])('%d %s', (status, error, requests) => {
  it.each(Object.entries(requests))('%s', async (_what, asked) => {
    const answer = await ask(asked);
    expect(answer).toMatchObject({ status, json: { error } });
    // The same words for every reason.
    if (status === 401)
      expect(answer.json).toMatchObject({ detail: 'client authentication failed' });
  });
});

it('the endpoint refuses other methods', async () => {
  for (const method of ['GET', 'HEAD', 'PUT', 'OPTIONS']) {
    const { status, headers } = await service.api.call(TOKEN_PATH, { method });
    expect([status, headers.get('allow')]).toEqual([405, 'POST']);
  }
});
