import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { projectFiles } from './project-files.ts';

it('docs/caches.md names every file of the services that makes a cache', () => {
  const table = readFileSync('docs/caches.md', 'utf8');
  const making = projectFiles(['.ts']).filter(
    (path) => /^(?:services|shared)\//.test(path) && readFileSync(path, 'utf8').includes('new LRUCache'),
  );
  expect(making.length).toBeGreaterThan(5);
  expect(making.filter((path) => !table.includes(`\`${path}\``))).toEqual([]);
});
