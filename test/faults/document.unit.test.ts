import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const TABLE = readFileSync(join(ROOT, 'docs/reliability.md'), 'utf8');

it('docs/reliability.md names only existing tests, and every fault of this folder', () => {
  const named = new Set(
    [...TABLE.matchAll(/`(test\/[\w./-]+\.test\.ts)`/g)].map(([, path = '']) => path),
  );
  expect([...named].filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  const ours = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.fault.test.ts'));
  expect(ours.filter((name) => !named.has(`test/faults/${name}`))).toEqual([]);
});
