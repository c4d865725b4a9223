import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { expect, it } from 'vitest';
import { projectFiles } from '../docs/project-files.ts';

const sources = projectFiles(['.ts']).filter((path) => /^(?:services|shared|deploy)\//.test(path));

it('nothing outside shared/kafka imports kafkajs', () => {
  const importing = sources.filter((path) =>
    /from 'kafkajs|'kafkajs\//.test(readFileSync(path, 'utf8')),
  );
  expect(importing.filter((path) => !path.startsWith('shared/kafka/'))).toEqual([]);
});

it('the folders of shared/projection have no import cycle', () => {
  const folder = (path: string) => /^shared\/projection\/([^/]+)\//.exec(path)?.[1];
  const imports = new Map<string, Set<string>>();
  for (const path of sources) {
    const from = folder(path);
    if (from === undefined) continue;
    const reached = imports.get(from) ?? new Set<string>();
    imports.set(from, reached);
    for (const [, name = ''] of readFileSync(path, 'utf8').matchAll(/from '(\.[^']+)'/g)) {
      const to = folder(posix.join(posix.dirname(path), name));
      if (to !== undefined && to !== from) reached.add(to);
    }
  }
  // Repeatedly removes folders without remaining imports; the rest is a cycle.
  for (let before = -1; before !== imports.size;) {
    before = imports.size;
    for (const [name, reached] of imports)
      if (![...reached].some((one) => imports.has(one))) imports.delete(name);
  }
  expect([...imports.keys()]).toEqual([]);
});
