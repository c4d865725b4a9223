/** Puts a result into a document of `docs/`: it replaces what lies between two marks, the rest is written by hand. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { replaceSection } from '#admin/documents/documents.ts';

const FOLDER = join(import.meta.dirname, '../../docs');

/** @param name of the marks `<!-- name: begin -->` and `<!-- name: end -->`. */
export async function writeSection(
  name: string,
  markdown: string,
  document = 'benchmarks.md',
): Promise<void> {
  const file = join(FOLDER, document);
  const written = replaceSection(await readFile(file, 'utf8'), name, markdown);
  await writeFile(file, await format(written, { ...(await resolveConfig(file)), filepath: file }));
}
