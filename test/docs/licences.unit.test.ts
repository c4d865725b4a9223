import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';

/** Licences under which a package may be part of the product. */
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  '(MIT OR CC0-1.0)',
  'Unlicense',
]);

interface Lockfile {
  packages: Record<string, { license?: string; dev?: boolean }>;
}

it('what the product is made of has licences that allow it', async () => {
  const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8')) as Lockfile;
  const shipped = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true);
  expect(shipped.length).toBeGreaterThan(30);
  const others = shipped.filter(([, { license }]) => !ALLOWED.has(license ?? 'none'));
  expect(others.map(([path, { license }]) => `${path}: ${license ?? 'none'}`)).toEqual([]);
});
