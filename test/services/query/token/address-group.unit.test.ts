import { expect, it } from 'vitest';
import { addressGroup } from '#query/token/client-address.ts';

it.each([
  ['203.0.113.9', '203.0.113.9'],
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['::ffff:cb00:7109', '203.0.113.9'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::1', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
])('%s belongs to %s', (address, group) => {
  expect(addressGroup(address)).toBe(group);
});

it.each([undefined, '', 'unknown', '203.0.113.9:443', '_hidden', '203.0.113.999'])(
  'what is no address is in one group: %s',
  (address) => {
    expect(addressGroup(address)).toBe('unknown');
  },
);
