import { describe, expect, it } from 'vitest';
import { basicCredentials } from '#query/token/client.ts';

const basic = (text: string | Buffer) => `Basic ${Buffer.from(text).toString('base64')}`;

describe('basicCredentials', () => {
  it.each([
    ['id:secret', ['id', 'secret'], ['id', 'secret']],
    ['i%2Dd:s%2Bt', ['i%2Dd', 's%2Bt'], ['i-d', 's+t']],
    ['a+b:c', ['a+b', 'c'], ['a b', 'c']],
    ['id:a:b', ['id', 'a:b'], ['id', 'a:b']],
    ['id:100%', ['id', '100%'], ['id', '100%']],
    ['id:', ['id', ''], ['id', '']],
    [':s', ['', 's'], ['', 's']],
  ])('%s', (text, asSent, decoded) => {
    const read = basicCredentials(basic(text));
    expect([read?.asSent.clientId, read?.asSent.clientSecret]).toEqual(asSent);
    expect([read?.decoded.clientId, read?.decoded.clientSecret]).toEqual(decoded);
  });

  it('takes the scheme in any case and a missing padding', () => {
    expect(basicCredentials('bAsIc aWQ6cw')?.asSent).toEqual({ clientId: 'id', clientSecret: 's' });
  });

  it.each([
    undefined,
    '',
    'Basic',
    'Basic ',
    'Bearer aWQ6cw==',
    'Basic aWQ6cw==, Basic aWQ6cw==',
    'Basic aWQ6c*==',
    'Basic aWQ6cw== ',
    basic('no colon'),
    basic(Buffer.from([0x69, 0x3a, 0xff])),
  ])('is none: %s', (header) => expect(basicCredentials(header)).toBeNull());
});
