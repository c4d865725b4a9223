/** Our services as programs: what `npm run start:<service>` runs in production, with what it tells Node. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** A program of Node. */
export interface Program {
  name: string;
  file: string;
  /** What Node itself is told. */
  flags?: readonly string[];
}

const ROOT = new URL('../../', import.meta.url);

/** @throws when `package.json` starts it in another way. */
export async function serviceProgram(name: 'projector' | 'query'): Promise<Program> {
  const { scripts } = JSON.parse(await readFile(new URL('package.json', ROOT), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const [node, ...words] = (scripts[`start:${name}`] ?? '').split(' ');
  const file = words.pop();
  if (node !== 'node' || file === undefined) throw new Error(`package.json does not say how ${name} starts`);
  return { name, file: fileURLToPath(new URL(file, ROOT)), flags: words };
}
