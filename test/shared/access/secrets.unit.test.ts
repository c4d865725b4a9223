import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { times } from '#test/times.ts';
import { hashSecret, newClientId, newClientSecret, secretMatches } from '#shared/access/secrets.ts';

describe('a generated id or secret', () => {
  it('has only letters and digits, since clients encode other characters differently', () => {
    for (const id of times(100, newClientId)) expect(id).toMatch(/^[A-Za-z0-9]{24}$/);
    for (const secret of times(100, newClientSecret)) expect(secret).toMatch(/^[A-Za-z0-9]{58}$/);
  });

  it('matches the pattern and checksum of docs/security.md for secret scanners', () => {
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

  it('is unique', () => {
    expect(new Set(times(1_000, newClientSecret)).size).toBe(1_000);
  });
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
