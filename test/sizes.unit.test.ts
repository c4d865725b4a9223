/** The tokens of each part of the repository, compared with its ceiling in `sizes.json`. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { projectFiles } from './docs/project-files.ts';
import { countTokens } from './tokens.ts';

test('no part exceeds its ceiling; a commit that raises one says why', async () => {
  const ceilings = JSON.parse(await readFile('test/sizes.json', 'utf8')) as Record<string, number>;
  const sizes = await Promise.all(
    projectFiles(['.ts', '.js']).map(async (path) => ({
      path,
      tokens: countTokens(await readFile(path, 'utf8')),
    })),
  );
  const rows = Object.entries(ceilings).map(([part, ceiling]) => {
    const files = sizes.filter(({ path }) => path.startsWith(`${part}/`));
    return {
      part,
      files: files.length,
      tokens: files.reduce((sum, { tokens }) => sum + tokens, 0),
      ceiling,
    };
  });
  const table = rows.map(({ part, files, tokens, ceiling }) =>
    [
      part.padEnd(20),
      `${files} files`.padStart(10),
      `${tokens} tokens`.padStart(15),
      `of ${ceiling}`.padStart(10),
    ].join(' '),
  );
  process.stdout.write(`${table.join('\n')}\n`);
  expect(rows.filter(({ tokens, ceiling }) => tokens > ceiling)).toEqual([]);
});
