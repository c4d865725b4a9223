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
