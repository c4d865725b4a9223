/** Puts a result into `docs/benchmarks.md`: it replaces what lies between two marks, the rest is written by hand. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { replaceSection } from '#admin/documents/section.ts';

const FILE = join(import.meta.dirname, '../../docs/benchmarks.md');

/** @param name of the marks `<!-- name: begin -->` and `<!-- name: end -->`. */
export async function writeSection(name: string, markdown: string): Promise<void> {
  const written = replaceSection(await readFile(FILE, 'utf8'), name, markdown);
  await writeFile(FILE, await format(written, { ...(await resolveConfig(FILE)), filepath: FILE }));
}
