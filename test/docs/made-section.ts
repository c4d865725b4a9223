/** Compares a document's part that a program makes with what the program makes now. */
import { readFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import { expect } from 'vitest';
import { replaceSection } from '#admin/documents/section.ts';

/** Expects that `npm run documents` would change nothing in the document's part of that name. */
export async function expectUpToDate(path: string, name: string, markdown: string): Promise<void> {
  const committed = await readFile(path, 'utf8');
  const options = { ...(await resolveConfig(path)), filepath: path };
  expect(committed).toBe(await format(replaceSection(committed, name, markdown), options));
}
