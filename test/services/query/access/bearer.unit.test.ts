import { expect, it } from 'vitest';
import { bearerToken } from '#query/access/bearer.ts';

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
