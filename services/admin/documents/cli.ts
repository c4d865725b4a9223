/** The part of `docs/cli.md` that is made from the commands: what `--help` says of each. */
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { createProgram } from '../program.ts';

/** As wide as a terminal at least is. */
const COLUMNS = 80;

export function cliMarkdown(): string {
  return commandHelps(createProgram())
    .map(({ name, help }) => `## ${name}\n\n\`\`\`text\n${help.trim()}\n\`\`\``)
    .join('\n\n');
}

/** A command's help and those of the commands under it, each by its whole name. */
export function commandHelps(command: CommandUnknownOpts, parents = ''): { name: string; help: string }[] {
  const name = `${parents}${command.name()}`;
  let help = '';
  command.configureOutput({
    writeOut: (text) => (help += text),
    getOutHelpWidth: () => COLUMNS,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  return [{ name, help }, ...command.commands.flatMap((child) => commandHelps(child, `${name} `))];
}
