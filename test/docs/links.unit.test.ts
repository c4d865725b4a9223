import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { projectFiles } from './project-files.ts';

/** A heading as GitHub makes an anchor of it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');
}

function hasAnchor(path: string, anchor: string): boolean {
  const headings = readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm);
  return [...headings].some(([, heading = '']) => anchorOf(heading) === anchor);
}

/** Records of what was, which name files of their time. */
const isHistory = (path: string) => path.startsWith('docs/decisions/0') || path === 'CHANGELOG.md';

it.each(projectFiles(['.md']).filter((path) => !isHistory(path)))('%s names files that are there', (path) => {
  const named = readFileSync(path, 'utf8').matchAll(/`((?:services|shared|deploy|test|docs)\/[\w./-]*)`/g);
  // `courier` is the entity that docs/add-an-entity.md makes up.
  const missing = [...named].map(([, file = '']) => file).filter((file) => !existsSync(file));
  expect(missing.filter((file) => !file.includes('courier'))).toEqual([]);
});

it.each(projectFiles(['.md']))('%s links to files and headings that are there', (path) => {
  const text = readFileSync(path, 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '');
  const dead = [...text.matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].filter(
    ([, file = '', anchor]) => {
      const target = file === '' ? path : join(dirname(path), file);
      return !existsSync(target) || (anchor !== undefined && !hasAnchor(target, anchor));
    },
  );
  expect(dead.map(([link]) => link)).toEqual([]);
});

it.each(projectFiles(['.md']).filter((path) => !isHistory(path)))(
  '%s names npm scripts that are there',
  (path) => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: object };
    const named = readFileSync(path, 'utf8').matchAll(/npm run (?:--silent )?([a-z][\w:-]*)/g);
    expect([...named].map(([, name = '']) => name).filter((name) => !(name in scripts))).toEqual([]);
  },
);

it('docs/README.md leads to every document', () => {
  const index = readFileSync('docs/README.md', 'utf8');
  const documents = projectFiles(['.md', '.json']).filter((path) => /^docs\/[\w-]+\.(?:md|json)$/.test(path));
  const names = documents.map((path) => path.slice('docs/'.length)).filter((name) => name !== 'README.md');
  expect(names.filter((name) => !index.includes(`](${name}`))).toEqual([]);
});
