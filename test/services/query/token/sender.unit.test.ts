import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { clientAddresses, senders } from '#query/token/failed-authentications.ts';

const CLAIMS = {
  sessionId: 'x',
  clientId: 'c',
  storeId: 's1',
  environment: 'sandbox',
  scopes: [],
  expiresAt: 0,
};
const PROXY = '10.0.0.1';
const senderOf = senders(
  (token) => (token === 'verified' ? CLAIMS : undefined),
  clientAddresses([PROXY], () => undefined),
);
const from = (remoteAddress: string, headers: IncomingMessage['headers'] = {}) =>
  senderOf({ headers, socket: { remoteAddress } } as IncomingMessage);
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe('the sender of a request', () => {
  it('is the store of a token that was verified before, from whatever address', () => {
    expect(from('203.0.113.1', bearer('verified'))).toBe(from('203.0.113.2', bearer('verified')));
  });

  it('is the address while the token is not known', () => {
    expect(from('203.0.113.1', bearer('forged'))).toBe(from('203.0.113.1'));
    expect(from('203.0.113.1', bearer('forged'))).not.toBe(from('203.0.113.2', bearer('forged')));
    expect(from('203.0.113.1', bearer('forged'))).not.toBe(from('203.0.113.1', bearer('verified')));
  });

  it('is the network of an IPv6 address', () => {
    expect(from('2001:db8::1')).toBe(from('2001:db8::2'));
    expect(from('2001:db8::1')).not.toBe(from('2001:db8:0:1::1'));
  });

  it('is the address that a trusted proxy saw, and no other', () => {
    const forwarded = { 'x-forwarded-for': '203.0.113.1' };
    expect(from(PROXY, forwarded)).toBe(from('203.0.113.1'));
    expect(from('198.51.100.1', forwarded)).toBe(from('198.51.100.1'));
  });
});
