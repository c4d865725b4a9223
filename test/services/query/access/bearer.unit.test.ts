import { expect, it } from 'vitest';
import { bearerMissing, bearerToken } from '#query/access/steps.ts';

it.each([
  ['Bearer a.b-c_d~e+f/g=', 'a.b-c_d~e+f/g='],
  ['bearer  abc', 'abc'],
  ['BEARER abc', 'abc'],
])('%s holds %s', (header, token) => expect(bearerToken(header)).toBe(token));

it.each([
  undefined,
  '',
  'Bearer',
  'Bearer ',
  'Bearerabc',
  'Bearer a b',
  'Bearer a,b',
  'Basic abc',
  'Bearer "abc"',
  ' Bearer abc',
])('%s holds none', (header) => expect(bearerToken(header)).toBeNull());

it.each([
  [undefined, /^a bearer token is required/],
  ['Basic dTpw', /^Basic credentials get a token at POST \/api\/auth\/token\//],
  ['token abc', /^the scheme of the Authorization header must be Bearer, not token: /],
  ['s3cr3t abc', /^the scheme of the Authorization header must be Bearer: /],
  ['abc', /^the Authorization header has no scheme: Authorization: Bearer /],
  ['Bearer a b', /^what follows Bearer is no token$/],
])('%s is told as what it is, without a word of it', (header, words) => {
  const told = bearerMissing(header);
  expect(told).toMatch(words);
  expect(told).not.toMatch(/["\\]|dTpw|abc|s3cr3t/);
});
