/** `config`: every setting there is, and whether those of the environment make a configuration. */
import type { Command } from 'commander';
import { describeSettings, readConfig } from '#shared/config.ts';
import { StoreDataError } from '#shared/errors.ts';
import { connectionEnvironment } from '../connection/settings.ts';
import { jsonOption } from '../options.ts';
import { markFailed, print, printJson, remark } from '../output/print.ts';
import { renderTable } from '../output/table.ts';

const EXAMPLES = `
Values are not shown, since some are secrets.

Example:
  npm run store-data -- config`;

export function addConfigCommand(program: Command): void {
  program
    .command('config')
    .description('Show every setting, and check those of the environment')
    .addOption(jsonOption())
    .addHelpText('after', EXAMPLES)
    .action(config);
}

async function config(flags: { json?: true }): Promise<void> {
  const { env, origin } = await connectionEnvironment(process.env);
  const settings = describeSettings().map((setting) => ({ ...setting, set: Boolean(env[setting.name]) }));
  const mistakes = findMistakes(env);
  if (flags.json) printJson({ origin, settings, mistakes });
  else {
    print(
      renderTable(
        [{ title: 'SETTING' }, { title: 'DEFAULT' }, { title: 'MEANING', fills: true }],
        settings.map(({ name, default: fallback, meaning, set }) => [
          `${set ? '*' : ' '} ${name}`,
          fallback === null ? '(required)' : fallback || '(none)',
          meaning.replaceAll('`', ''),
        ]),
      ),
    );
    print(`\n* is set; servers come from ${origin}`);
    if (mistakes.length === 0) print('the settings make a configuration');
  }
  if (mistakes.length === 0) return;
  for (const mistake of mistakes) remark(`store-data: ${mistake}`);
  markFailed();
}

function findMistakes(env: NodeJS.ProcessEnv): string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (error instanceof StoreDataError && error.code === 'config_invalid') return error.message.split('\n');
    throw error;
  }
}
