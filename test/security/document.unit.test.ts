import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

it('docs/security.md names every test of this folder', () => {
  const tests = globSync('test/security/*.integration.test.ts');
  expect(tests.length).toBeGreaterThan(0);
  const document = readFileSync('docs/security.md', 'utf8');
  expect(tests.filter((path) => !document.includes(`\`${path}\``))).toEqual([]);
});
