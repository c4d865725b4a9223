/** The commands in operators' documents, so that tests run exactly these lines. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface DocumentedCommand {
  /** The arguments of `store-data`. */
  args: string[];
  /** The text after `#`. */
  remark: string;
}

const DOCS = join(import.meta.dirname, '../../docs');
const FENCE = /^ *```sh\n([^]*?)^ *```$/gm;
const COMMAND = /^ *store-data ([^#|<>\n]*?) *(?:# *(.*))?$/gm;

/** The commands in the shell blocks of a section, in order. @throws if there are none. */
export function documentedCommands(file: string, heading: string): DocumentedCommand[] {
  const text = readFileSync(join(DOCS, file), 'utf8');
  const [, section = ''] = text.split(`\n## ${heading}\n`);
  const [own = ''] = section.split('\n## ', 1);
  const commands = [...own.matchAll(FENCE)].flatMap(([, block = '']) =>
    [...block.matchAll(COMMAND)].map(([, words = '', remark = '']) => ({
      args: words.split(' '),
      remark,
    })),
  );
  if (commands.length === 0) throw new Error(`docs/${file} has no command below "${heading}"`);
  return commands;
}
