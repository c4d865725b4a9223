/** `config`: all settings, and whether those of the environment are valid. */
import { describeSettings, readConfig, settingWarnings } from '#shared/config.ts';
import { StoreDataError } from '#shared/errors.ts';
import { connectionEnvironment } from '../servers.ts';
import { command } from '../options.ts';
import { markFailed, printResult, remark, tableOf } from '../output.ts';

export const configCommand = () =>
  command('config', 'Show every setting, and check those of the environment').action(async () => {
    const { env, origin } = await connectionEnvironment(process.env);
    const settings = describeSettings().map(({ name, default: fallback, meaning }) => {
      return { name, default: fallback, meaning, set: Boolean(env[name]) };
    });
    const mistakes = findMistakes(env);
    const warnings = settingWarnings(env);
    const table = tableOf(settings, [
      ['SETTING', ({ name, set }) => `${set ? '*' : ' '} ${name}`],
      ['DEFAULT', ({ default: value }) => (value === null ? '(required)' : value || '(none)')],
    ]);
    const doubt = warnings.length === 0 ? '' : ', but see the warnings';
    const verdict = mistakes.length === 0 ? `\nthe settings make a configuration${doubt}` : '';
    const text = `${table}\n* is set; servers come from ${origin}${verdict}`;
    printResult({ origin, settings, mistakes, warnings }, text);
    for (const warning of warnings) remark(`warning: ${warning}`);
    if (mistakes.length === 0) return;
    for (const mistake of mistakes) remark(`store-data: ${mistake}`);
    markFailed();
  });

function findMistakes(env: NodeJS.ProcessEnv): string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (error instanceof StoreDataError && error.code === 'config_invalid')
      return error.message.split('\n');
    throw error;
  }
}
