/** The lines of TypeScript in each part of the repository, compared with its ceiling in `sizes.json`. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { projectFiles } from './docs/project-files.ts';

test('no part exceeds its ceiling; a commit that raises one says why', async () => {
  const ceilings = JSON.parse(await readFile('test/sizes.json', 'utf8')) as Record<string, number>;
  const sizes = await Promise.all(
    projectFiles(['.ts']).map(async (path) => {
      const lines = (await readFile(path, 'utf8')).split('\n').length - 1;
      return { path, lines };
    }),
  );
  const rows = Object.entries(ceilings).map(([part, ceiling]) => {
    const files = sizes.filter(({ path }) => path.startsWith(`${part}/`));
    return { part, files: files.length, lines: files.reduce((sum, { lines }) => sum + lines, 0), ceiling };
  });
  const table = rows.map(({ part, files, lines, ceiling }) =>
    [part.padEnd(20), `${files} files`.padStart(10), `${lines} lines`.padStart(13), `of ${ceiling}`.padStart(9)].join(
      ' ',
    ),
  );
  process.stdout.write(`${table.join('\n')}\n`);
  expect(rows.filter(({ lines, ceiling }) => lines > ceiling)).toEqual([]);
});
