/** The tree of commands, with the help, the usage errors and the exit codes that all share. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, CommanderError, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { actor, ACTOR_VARIABLE, auditCommand } from './audit.ts';
import * as access from './access/log.ts';
import { completionCommand } from './commands/completion.ts';
import { configCommand } from './commands/config.ts';
import { eraseCommand } from './commands/erase.ts';
import * as generations from './commands/generations.ts';
import * as keys from './commands/keys.ts';
import { lagCommand } from './commands/lag.ts';
import { prepareCommand } from './commands/prepare.ts';
import { publishCommand } from './commands/publish.ts';
import * as quota from './commands/quota.ts';
import * as sessions from './commands/sessions.ts';
import * as signingKeys from './commands/signing-keys.ts';
import * as stores from './commands/stores.ts';
import { verifyCommand } from './commands/verify.ts';
import { dropCommand, skipCommand } from './dead-letters/decide.ts';
import { retryCommand } from './dead-letters/retry.ts';
import * as letters from './dead-letters/show.ts';
import { describeError, isUnavailable, refusalOf, StoreDataError } from '#shared/errors.ts';
import { command as makeCommand, WrongUsage } from './options.ts';
import { fail, runToEnd } from './output.ts';
import project from '../../package.json' with { type: 'json' };

/** The text of `help.txt` below the options of each command, by the command's whole name. */
const HELP = new Map(
  readFileSync(join(import.meta.dirname, 'help.txt'), 'utf8')
    .split(/^== /m)
    .map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n')).trimEnd()]),
);

/** Makes the program; every action ends by returning or throwing, none by exiting. */
export function createProgram(): CommandUnknownOpts {
  const program = group(
    'store-data',
    'Feeds the Store Data API with events, and lets operators decide who may read what.',
    [
      prepareCommand(),
      publishCommand(),
      group('keys', 'Make access keys, and decide what they may read', [
        keys.createCommand(),
        keys.listCommand(),
        keys.showCommand(),
        keys.scopesCommand(),
        keys.rotateSecretCommand(),
        ...keys.statusCommands(),
      ]),
      group('stores', 'Look at stores; block them and let them in again; export or erase them', [
        stores.listCommand(),
        stores.showCommand(),
        ...stores.statusCommands(),
        stores.exportCommand(),
        eraseCommand(),
      ]),
      group('quota', 'Give stores a quota of their own, which "stores list" shows', [
        quota.setCommand(),
        quota.resetCommand(),
      ]),
      group('sessions', 'Look at issued tokens; end them before their time', [
        sessions.listCommand(),
        sessions.revokeCommand(),
      ]),
      group('signing-keys', 'Rotate the keys that sign tokens', [
        signingKeys.createCommand(),
        signingKeys.listCommand(),
        signingKeys.rotateCommand(),
        signingKeys.retireCommand(),
      ]),
      group('access', 'Restore the log of keys, blocked stores, quotas and erasures', [
        access.republishCommand(),
        access.replayCommand(),
      ]),
      auditCommand(),
      group('dead-letters', 'Look at messages that could not be applied; retry or drop them', [
        letters.listCommand(),
        letters.showCommand(),
        retryCommand(),
        dropCommand(),
        skipCommand(),
      ]),
      generations.rebuildCommand(),
      generations.rollbackCommand(),
      group('generations', 'Look at the generations of read models; make one live or drop it', [
        generations.listCommand(),
        generations.flipCommand(),
        generations.dropCommand(),
      ]),
      lagCommand(),
      verifyCommand(),
      configCommand(),
      completionCommand(),
    ],
  )
    .exitOverride()
    .version(project.version, '-V, --version', 'print the version of this release')
    .option(
      '--actor <name>',
      `who is noted in the audit; by default ${ACTOR_VARIABLE}, or the user and machine`,
      actor,
    )
    .hook('preAction', (command) => {
      const { actor: name } = command.opts();
      if (name !== undefined) process.env[ACTOR_VARIABLE] = name;
    });
  finish(program, 'store-data');
  return program;
}

function group(
  name: string,
  description: string,
  commands: readonly CommandUnknownOpts[],
): Command {
  const parent = makeCommand(name, description);
  for (const command of commands) parent.addCommand(command);
  return parent;
}

/** Commands that print no result: the events of a store, and a script. */
const WITHOUT_JSON = new Set(['export', 'completion']);

/**
 * Gives a command, and those below it, `--json`, the text of `help.txt`, and usage errors in one
 * line that names the help.
 * @param name the whole one.
 */
function finish(command: CommandUnknownOpts, name: string): void {
  const hasJson = command.commands.length === 0 && !WITHOUT_JSON.has(command.name());
  if (hasJson) command.option('--json', 'print JSON, for programs');
  command.addHelpText('after', HELP.get(name) ?? '');
  for (const child of command.commands) {
    finish(child.copyInheritedSettings(command), `${name} ${child.name()}`);
  }
  command.configureOutput({
    outputError: (text) => {
      const [, mistake = ''] = /^(?:error: )?(.*?)\.?$/s.exec(text.trim()) ?? [];
      fail('command_invalid', `${mistake.replaceAll(/\s*\n\s*/g, ' ')}; see ${name} --help`);
    },
  });
}

export async function runProgram(args: readonly string[]): Promise<number> {
  return runToEnd(args.includes('--json'), async () => {
    try {
      await createProgram().parseAsync(args, { from: 'user' });
      return 0;
    } catch (error) {
      return exitCodeOf(error);
    }
  });
}

/** 1: it failed; 2: wrong usage. Prints why, unless commander has already. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof StoreDataError) {
    fail(error.code, error.message);
    return error instanceof WrongUsage ? 2 : 1;
  }
  const refusal = refusalOf(error);
  if (refusal !== null) fail('not_authorized', refusal);
  else if (isUnavailable(error))
    fail('environment_unavailable', `a server cannot be reached: ${describeError(error)}`);
  else fail('internal_error', `unexpected: ${describeError(error)}`);
  return 1;
}
