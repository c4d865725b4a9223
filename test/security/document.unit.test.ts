import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const TABLE = readFileSync(join(ROOT, 'docs/security.md'), 'utf8');

it('docs/security.md names only existing tests, and every test of this folder', () => {
  const named = new Set(
    [...TABLE.matchAll(/`(test\/[\w./-]+\.test\.ts)`/g)].map(([, path = '']) => path),
  );
  expect([...named].filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  const ours = readdirSync(import.meta.dirname).filter((name) =>
    name.endsWith('.integration.test.ts'),
  );
  expect(ours.filter((name) => !named.has(`test/security/${name}`))).toEqual([]);
});
