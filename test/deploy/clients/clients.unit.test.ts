/** The clients stay without dependencies, and as new as the document. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { expect, it } from 'vitest';
import { generate } from '../../../deploy/clients/generate.ts';

const CLIENTS = 'deploy/clients';
const read = (path: string) => readFile(join(CLIENTS, path), 'utf8');

it('their types are those of docs/openapi.json: `npm run clients`', async () => {
  for (const [path, text] of Object.entries(
    generate(await readFile('docs/openapi.json', 'utf8')),
  )) {
    const filepath = join(CLIENTS, path);
    const formatted = path.endsWith('.ts')
      ? await format(text, { ...(await resolveConfig(filepath)), filepath })
      : text;
    expect(await read(path), path).toBe(formatted);
  }
});

it('they have no dependencies', async () => {
  const manifest = JSON.parse(await read('typescript/package.json')) as Record<string, unknown>;
  expect(Object.keys(manifest).filter((name) => /dependencies/i.test(name))).toEqual([]);
  expect(await read('python/pyproject.toml')).toContain('\ndependencies = []\n');
});
