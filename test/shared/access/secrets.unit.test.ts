import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { expect, it } from 'vitest';
import { times } from '#test/times.ts';
import { hashSecret, newClientId, newClientSecret, secretMatches } from '#shared/access/secrets.ts';

it('a new id has only letters and digits, since clients encode other characters differently', () => {
  for (const id of times(100, newClientId)) expect(id).toMatch(/^[A-Za-z0-9]{24}$/);
});

it('so has a new secret: by the pattern and checksum of docs/security.md, for secret scanners', () => {
  const [, pattern = ''] =
    /`\\b(storedata.*)\\b`/.exec(readFileSync('docs/security.md', 'utf8')) ?? [];
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  for (const secret of times(100, newClientSecret)) {
    const [, random = '', checksum = ''] = new RegExp(`^${pattern}$`).exec(secret) ?? [];
    expect(random).toHaveLength(43);
    const value = checksum.split('').reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0);
    expect(value).toBe(crc32(random));
  }
});

it('new secrets are unique', () => {
  expect(new Set(times(1_000, newClientSecret)).size).toBe(1_000);
});

const [a, b] = [hashSecret('a'), hashSecret('b')];

it.each([
  ['a', [b, a], true],
  ['x', [a, b], false],
  ['a', [], false],
  ['', [a], false],
  [a, [a], false],
])('the secret %j matches one of the hashes %j: %j', (secret, hashes, expected) => {
  expect(secretMatches(secret, hashes)).toBe(expected);
});
