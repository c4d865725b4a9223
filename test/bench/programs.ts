/** Our services as programs: what `npm run start:<service>` runs in production, with what it tells Node. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** A program of Node. */
export interface Program {
  name: string;
  file: string;
  /** What Node itself is told. */
  flags?: readonly string[];
  /** What the libraries below it are told. */
  variables?: Readonly<Record<string, string>>;
}

const ROOT = new URL('../../', import.meta.url);

/** @throws when `package.json` starts it in another way. */
export async function serviceProgram(name: 'projector' | 'query'): Promise<Program> {
  const { scripts } = JSON.parse(await readFile(new URL('package.json', ROOT), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const words = (scripts[`start:${name}`] ?? '').split(' ');
  const node = words.indexOf('node');
  const file = words.at(-1);
  if (node === -1 || file === undefined) throw new Error(`package.json does not say how ${name} starts`);
  const variables = words.slice(0, node).map((word): [string, string] => {
    const [variable = '', value = ''] = word.split('=');
    return [variable, value];
  });
  return {
    name,
    file: fileURLToPath(new URL(file, ROOT)),
    flags: words.slice(node + 1, -1),
    variables: Object.fromEntries(variables),
  };
}
