import { describe, expect, it } from 'vitest';
import { hashSecret, newClientId, newClientSecret, secretMatches } from '#shared/access/secrets.ts';

describe('what we make', () => {
  it('uses letters and digits only, since clients disagree on how to encode the rest', () => {
    for (let round = 0; round < 100; round += 1) {
      expect(newClientId()).toMatch(/^[A-Za-z0-9]{24}$/);
      expect(newClientSecret()).toMatch(/^[A-Za-z0-9]{43}$/);
    }
  });

  it('never comes twice', () => {
    expect(new Set(Array.from({ length: 1_000 }, newClientSecret)).size).toBe(1_000);
  });
});

describe('secretMatches', () => {
  const [a, b] = [hashSecret('a'), hashSecret('b')];

  it.each([
    [['a'], [a], true],
    [['a'], [b, a], true],
    [['x', 'b'], [a, b], true],
    [['x'], [a, b], false],
    [['a'], [], false],
    [[], [a], false],
    [[''], [a], false],
    [[a], [a], false],
  ])('%j against %j', (candidates, hashes, expected) => {
    expect(secretMatches(candidates, hashes)).toBe(expected);
  });
});
