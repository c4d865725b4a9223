import type { IncomingMessage } from 'node:http';
import { expect, it, vi } from 'vitest';
import { words } from '#test/words.ts';
import type { TokenClaims } from '#query/access/tokens.ts';
import { addressGroup, clientAddresses, senders } from '#query/access/client-address.ts';

const PROXY = '10.0.0.1';
const unreadable = vi.fn<(proxy: string) => void>();
const addressOf = clientAddresses(['10.0.0.0/8', 'fd00::/8', '192.0.2.7'], unreadable);

it.each([
  ['203.0.113.9', '203.0.113.9'],
  ['"203.0.113.9:567"', '203.0.113.9'],
  ['::ffff:203.0.113.9:567', '::ffff:203.0.113.9'],
  ['2001:db8::1', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['"[2001:db8::1]:567"', '2001:db8::1'],
  ['[fe80::1%eth0]:567', 'fe80::1%eth0'],
  ['203.0.113.9, fe80::1%a-b', 'fe80::1%a-b'],
  ['1.1.1.1:5, 203.0.113.9:6, 10.0.0.2:7', '203.0.113.9'],
  ['203.0.113.9, [fd00::2]:443, 192.0.2.7:80, ::ffff:10.0.0.3', '203.0.113.9'],
  ['203.0.113.9:567,', '203.0.113.9'],
  ['10.0.0.2:5, 10.0.0.3:6', '10.0.0.2'],
  ['nonsense, 203.0.113.9', '203.0.113.9'],
  ['', PROXY],
])('behind a trusted proxy, %j is %s', (header, address) => {
  expect(addressOf(PROXY, header)).toBe(address);
  expect(addressOf(`::ffff:${PROXY}`, `${header},10.0.0.4`)).toBe(
    address === PROXY ? '10.0.0.4' : address,
  );
});

it('joins a repeated header', () => {
  expect(addressOf(PROXY, ['1.1.1.1', '203.0.113.9:567, 10.0.0.2'])).toBe('203.0.113.9');
});

it('ignores the header of an untrusted peer', () => {
  expect(addressOf('203.0.113.9', '1.1.1.1')).toBe('203.0.113.9');
  expect(clientAddresses([], unreadable)(PROXY, '1.1.1.1')).toBe(PROXY);
  expect(addressOf(undefined, '1.1.1.1')).toBeUndefined();
});

it('uses the proxy’s address if the header is invalid, and reports that once', () => {
  unreadable.mockClear();
  for (const junk of words(
    'unknown _hidden for=1.1.1.1 203.0.113.999 1.1.1.1:99999999 [1.1.1.1 :80',
  )) {
    expect(addressOf(PROXY, `203.0.113.9, ${junk}`)).toBe(PROXY);
    expect(addressOf(PROXY, `${junk}, 10.0.0.2:80`)).toBe('10.0.0.2');
  }
  expect(unreadable.mock.calls).toEqual([[PROXY]]);
});

it.each([
  ['203.0.113.9', '203.0.113.9'],
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['::ffff:cb00:7109', '203.0.113.9'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::1', '2001:db8:1:2::/64'],
  ['fe80::1%br-3f.100', 'fe80:0:0:0::/64'],
  ['::ffff:203.0.113.9%a-b', '203.0.113.9'],
  ['::1', '0:0:0:0::/64'],
])('%s belongs to %s', (address, group) => expect(addressGroup(address)).toBe(group));

it.each([undefined, '', '203.0.113.9:443', '203.0.113.999'])(
  'invalid addresses are in one group: %s',
  (address) => expect(addressGroup(address)).toBe('unknown'),
);

it('the sender of a request is the store of a verified token, otherwise the network that a trusted proxy saw', () => {
  const claims = { storeId: 's1', environment: 'sandbox' } as TokenClaims;
  const senderOf = senders((token) => (token === 'verified' ? claims : undefined), addressOf);
  const from = (remoteAddress: string, headers: IncomingMessage['headers'] = {}) =>
    senderOf({ headers, socket: { remoteAddress } } as IncomingMessage);
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  expect(from('203.0.113.1', bearer('verified'))).toBe(from('203.0.113.2', bearer('verified')));
  expect(from('203.0.113.1', bearer('verified'))).not.toBe(from('203.0.113.1'));
  expect(from('203.0.113.1', bearer('forged'))).toBe(from('203.0.113.1'));
  expect(from('203.0.113.1')).not.toBe(from('203.0.113.2'));
  expect(from('2001:db8::1')).toBe(from('2001:db8::2'));
  expect(from('2001:db8::1')).not.toBe(from('2001:db8:0:1::1'));
  const forwarded = { 'x-forwarded-for': '203.0.113.1' };
  expect(from(PROXY, forwarded)).toBe(from('203.0.113.1'));
  expect(from('198.51.100.1', forwarded)).toBe(from('198.51.100.1'));
});
