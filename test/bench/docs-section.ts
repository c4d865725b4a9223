/** Puts a result into `docs/benchmarks.md`: it replaces what lies between two marks, the rest is written by hand. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';

const FILE = join(import.meta.dirname, '../../docs/benchmarks.md');

/** @param name of the marks `<!-- name: begin -->` and `<!-- name: end -->`. */
export async function writeSection(name: string, markdown: string): Promise<void> {
  const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const text = await readFile(FILE, 'utf8');
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`${FILE} lacks ${begin} … ${end}`);
  const written = `${before}${begin}\n\n${markdown}\n\n${end}${after}`;
  await writeFile(FILE, await format(written, { ...(await resolveConfig(FILE)), filepath: FILE }));
}
