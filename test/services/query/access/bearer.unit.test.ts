import { expect, it } from 'vitest';
import { bearerMissing } from '#query/access/live-access.ts';

it.each([
  [undefined, /^a bearer token is required/],
  ['Basic dTpw', /^Basic credentials get a token at POST \/api\/auth\/token\//],
  ['token abc', /^the scheme of the Authorization header must be Bearer, not token: /],
  ['s3cr3t abc', /^the scheme of the Authorization header must be Bearer: /],
  ['abc', /^the Authorization header has no scheme: Authorization: Bearer /],
  ['Bearer a b', /^the value after Bearer is not a token$/],
])('%s is named, and not quoted', (header, words) => {
  const told = bearerMissing(header);
  expect(told).toMatch(words);
  expect(told).not.toMatch(/["\\]|dTpw|abc|s3cr3t/);
});
