import { expect, it } from 'vitest';
import { countTokens } from './tokens.ts';

it.each([
  ['names, literals and operators', 'const a = b ?? 1;', 7],
  ['no comments and no white space', '/* why */ a( // here\n  b,\n);', 5],
  ['a string as one, whatever is in it', `f('a // b')`, 4],
  ['a template once, and its expressions as code', 'f(`a ${b.c} d`)', 9],
])('counts %s', (_what, text, tokens) => {
  expect(countTokens(text)).toBe(tokens);
});

it('tokens count the same for every layout', () => {
  expect(countTokens('f(\n  a,\n  b,\n)')).toBe(countTokens('f(a, b)'));
});
