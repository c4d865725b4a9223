import { describe, expect, it } from 'vitest';
import { Refused } from '#query/responses/refusal.ts';
import { grantedScopes, readForm } from '#query/token/form.ts';

const FORM = 'application/x-www-form-urlencoded';
const read = (body: string | Buffer, contentType: string | undefined = FORM, query = '') =>
  readForm(contentType, typeof body === 'string' ? Buffer.from(body) : body, query);

function refusalOf(act: () => unknown) {
  try {
    act();
  } catch (error) {
    if (error instanceof Refused) return error.refusal;
    throw error;
  }
  throw new Error('was not refused');
}

describe('a form', () => {
  it.each([
    ['grant_type=client_credentials', null],
    ['grant_type=client_credentials&scope=', null],
    ['scope=order+crm&grant_type=client_credentials', 'order crm'],
    ['scope=order crm&grant_type=client_credentials', 'order crm'],
    ['grant_type=client%5Fcredentials&audience=x&resource=y', null],
    ['grant_type=&grant_type=client_credentials&client_id=&client_secret=', null],
  ])('%s', (body, scope) => expect(read(body)).toEqual({ grantType: 'client_credentials', scope }));

  it('may name its charset, in any case', () => {
    expect(read('grant_type=x', 'Application/X-WWW-Form-Urlencoded; charset=UTF-8').grantType).toBe('x');
  });
});

describe('no form', () => {
  it.each([undefined, '', 'application/json', 'text/plain', 'multipart/form-data; boundary=x', `${FORM}x`])(
    'of content type %s',
    (contentType) => {
      expect(refusalOf(() => readForm(contentType, Buffer.from('grant_type=x'), ''))).toMatchObject({
        status: 400,
        code: 'invalid_request',
      });
    },
  );

  it.each([
    '',
    'scope=order',
    'grant_type=',
    'grant_type',
    'grant_type=%',
    'grant_type=%zz',
    'grant_type=%ff',
    'grant_type=x&grant_type=x',
    'grant_type=x&scope=a&scope=b',
    'grant_type=x&other=1&other=2',
    'grant_type=x&%=1',
    'grant_type=x&client_id=k',
    'grant_type=x&client_secret=s',
    'grant_type=x&a=\u00e9',
    '{"grant_type":"x"}',
  ])('%s', (body) => expect(refusalOf(() => read(body)).code).toBe('invalid_request'));

  it('that is not UTF-8', () => {
    expect(refusalOf(() => read(Buffer.from([0x67, 0xff])))).toMatchObject({ code: 'invalid_request' });
  });

  it.each([
    'client_id=k',
    'client_secret=s',
    'a=1&client_s%65cret=s',
    'client_secret=50%off',
    'client_id=\u00e4',
    'client_id=k&client_id=',
    'client_secret=&client_secret=s',
  ])('with %s in the address', (query) => {
    expect(refusalOf(() => read('grant_type=x', FORM, query)).code).toBe('invalid_request');
  });

  it('is no matter of an address that names credentials without a value, or something else', () => {
    expect(read('grant_type=x', FORM, 'client_id=&client_secret&x=%zz&x=1').grantType).toBe('x');
  });

  it('repeats nothing that was sent', () => {
    for (const body of ['hunter2=1&hunter2=2', 'grant_type=x&client_secret=hunter2', 'hunter2=%ff']) {
      expect(refusalOf(() => read(body)).detail).not.toContain('hunter2');
    }
  });
});

describe('grantedScopes', () => {
  it.each([
    [null, ['menu', 'store'], ['store', 'menu']],
    [null, [], []],
    ['order', ['order', 'crm'], ['order']],
    ['menu  order crm', ['order', 'crm', 'menu'], ['crm', 'order', 'menu']],
    [' order order ', ['order'], ['order']],
  ] as const)('%s of %j', (requested, held, granted) => {
    expect(grantedScopes(requested, [...held])).toEqual(granted);
  });

  it.each(['menu', 'order menu', 'admin', 'ORDER', ' ', 'order\tcrm', 'order,crm'])(
    'refuses %j',
    (requested) => {
      expect(() => grantedScopes(requested, ['order', 'crm'])).toThrow(Refused);
    },
  );
});
