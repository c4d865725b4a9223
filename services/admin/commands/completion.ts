/** `completion`: a script for a shell, made from the tree of commands. */
import { command } from '../options.ts';
import { Argument, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { print } from '../output.ts';

const SHELLS = ['bash', 'zsh'] as const;

/** Each shell completes the words that can follow, else files. */
const FRONTENDS = {
  bash: `_store_data() {
  local at=$(_store_data_at "\${COMP_WORDS[@]:1:COMP_CWORD-1}")
  local words=$(_store_data_words "$at" "\${COMP_WORDS[COMP_CWORD-1]}")
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _store_data store-data`,
  zsh: `_store_data() {
  local at=$(_store_data_at "\${(@)words[2,CURRENT-1]}")
  local -a candidates=(\${=$(_store_data_words "$at" "$words[CURRENT-1]")})
  compadd -a candidates || _files
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _store_data store-data`,
};

export const completionCommand = () =>
  command('completion', 'Print the script that completes commands in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action((shell, _flags, command) => print(scriptFor(shell, command.parent ?? command)));

function scriptFor(shell: (typeof SHELLS)[number], program: CommandUnknownOpts): string {
  const commands = below(program);
  const lines = commands.flatMap(
    ({ at, command: { commands: children, registeredArguments, options } }) => {
      const withChoices = options.filter(({ argChoices }) => argChoices !== undefined);
      const words = [
        ...children.map((child) => child.name()),
        ...registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
        ...options.map(({ long }) => long),
        '--help',
      ];
      return [
        ...withChoices.map(
          ({ long, argChoices = [] }) => `    '${at} ${long}') echo '${argChoices.join(' ')}' ;;`,
        ),
        `    '${at} '*) echo '${words.join(' ')}' ;;`,
      ];
    },
  );
  return `# source <(store-data completion ${shell})
_store_data_at() {
  local at= word
  for word in "$@"; do
    case ' ${commands.map(({ at }) => at).join(' ')} ' in *" \${at:+$at.}$word "*) at=\${at:+$at.}$word ;; esac
  done
  echo "$at"
}
_store_data_words() {
  case "$1 $2" in
${lines.join('\n')}
  esac
}
${FRONTENDS[shell]}`;
}

/** The commands of a tree, each with the way to it, such as `keys.list`. */
function below(
  command: CommandUnknownOpts,
  at = '',
): { at: string; command: CommandUnknownOpts }[] {
  const children = command.commands.flatMap((child) =>
    below(child, `${at === '' ? '' : `${at}.`}${child.name()}`),
  );
  return [{ at, command }, ...children];
}
