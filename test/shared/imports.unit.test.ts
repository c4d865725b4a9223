import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { expect, it } from 'vitest';
import { projectFiles } from '../docs/project-files.ts';

const read = (path: string) => readFileSync(path, 'utf8');

it('nothing outside shared/kafka imports kafkajs', () => {
  const others = projectFiles(['.ts']).filter((path) =>
    /^(?:services|shared(?!\/kafka\/)|deploy)\//.test(path),
  );
  expect(others.length).toBeGreaterThan(100);
  expect(others.filter((path) => /from 'kafkajs|'kafkajs\//.test(read(path)))).toEqual([]);
});

it('the folders of shared/projection have no import cycle', () => {
  const folder = (path: string) => /^shared\/projection\/([^/]+)\//.exec(path)?.[1] ?? '';
  const imports = new Map<string, Set<string>>();
  for (const path of projectFiles(['.ts']).filter((one) => folder(one) !== '')) {
    const from = folder(path);
    const named = read(path).matchAll(/from '(\.[^']+)'/g);
    const reached = named.map(([, name = '']) => folder(posix.join(posix.dirname(path), name)));
    imports.set(
      from,
      new Set(reached).difference(new Set([from])).union(imports.get(from) ?? new Set()),
    );
  }
  // Repeatedly removes folders without remaining imports; the rest is a cycle.
  for (let before = -1; before !== imports.size;) {
    before = imports.size;
    for (const [name, reached] of imports)
      if (![...reached].some((one) => imports.has(one))) imports.delete(name);
  }
  expect([...imports.keys()]).toEqual([]);
});
