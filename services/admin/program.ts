/** The tree of commands, and what all of them have in common: help, wrong usage, exit codes. */
import { readFileSync } from 'node:fs';
import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { actor, ACTOR_VARIABLE } from './audit.ts';
import { replayCommand as replayAccess, republishCommand as republishAccess } from './commands/access.ts';
import { auditCommand } from './commands/audit.ts';
import { completionCommand } from './commands/completion.ts';
import { configCommand } from './commands/config.ts';
import { dropCommand as dropLetters, retryCommand as retryLetters } from './commands/dead-letters/decide.ts';
import { listCommand as listLetters } from './commands/dead-letters/list.ts';
import { showCommand as showLetter } from './commands/dead-letters/show.ts';
import { skipCommand as skipBatch } from './commands/dead-letters/skip.ts';
import { eventsCommand } from './commands/events.ts';
import {
  dropCommand as dropGeneration,
  flipCommand as flipGeneration,
  listCommand as listGenerations,
  rollbackCommand,
} from './commands/generations.ts';
import { createCommand as createKey } from './commands/keys/create.ts';
import { listCommand as listKeys, showCommand as showKey } from './commands/keys/list.ts';
import { rotateSecretCommand } from './commands/keys/rotate-secret.ts';
import { scopesCommand, statusCommands } from './commands/keys/rights.ts';
import { lagCommand } from './commands/lag.ts';
import { prepareCommand } from './commands/prepare.ts';
import { publishCommand } from './commands/publish.ts';
import {
  resetCommand as resetQuota,
  setCommand as setQuota,
  showCommand as showQuota,
} from './commands/quota.ts';
import { rebuildCommand } from './commands/rebuild.ts';
import { listCommand as listSessions } from './commands/sessions/list.ts';
import { revokeCommand as revokeSession } from './commands/sessions/revoke.ts';
import * as signingKeys from './commands/signing-keys.ts';
import { eraseCommand as eraseStore } from './commands/stores/erase.ts';
import { exportCommand as exportStore } from './commands/stores/export.ts';
import { listCommand as listStores, showCommand as showStore } from './commands/stores/list.ts';
import { statusCommands as storeStatusCommands } from './commands/stores/status.ts';
import { verifyCommand } from './commands/verify.ts';
import { fail } from './output/print.ts';

/** What `help.txt` says below the options of each command, by its whole name. */
const HELP = new Map(
  readFileSync(new URL('./help.txt', import.meta.url), 'utf8')
    .split(/^== /m)
    .map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n')).trimEnd()]),
);

/** Makes the program; every action ends by returning or throwing, none by exiting. */
export function createProgram(): CommandUnknownOpts {
  const program = new Command('store-data')
    .description('Feeds the Store Data API with events, and lets operators decide who may read what.')
    .exitOverride()
    .option(
      '--actor <name>',
      `who is noted in the audit; by default ${ACTOR_VARIABLE}, or the user and machine`,
      actor,
    )
    .hook('preAction', (command) => {
      const { actor: name } = command.opts();
      if (name !== undefined) process.env[ACTOR_VARIABLE] = name;
    })
    .addHelpText('after', HELP.get('store-data') ?? '');
  tellMistakes(program);
  add(program, [
    prepareCommand(),
    eventsCommand(),
    publishCommand(),
    group('keys', 'Make access keys, and decide what they may read', [
      createKey(),
      listKeys(),
      showKey(),
      scopesCommand(),
      rotateSecretCommand(),
      ...statusCommands(),
    ]),
    group('stores', 'Look at stores; block them and let them in again; export or erase them', [
      listStores(),
      showStore(),
      ...storeStatusCommands(),
      exportStore(),
      eraseStore(),
    ]),
    group('quota', 'Give stores a quota of their own', [setQuota(), resetQuota(), showQuota()]),
    group('sessions', 'Look at issued tokens; end them before their time', [listSessions(), revokeSession()]),
    group('signing-keys', 'Rotate the keys that sign tokens', [
      signingKeys.createCommand(),
      signingKeys.listCommand(),
      signingKeys.rotateCommand(),
      signingKeys.retireCommand(),
    ]),
    group('access', 'Restore the log of keys, blocked stores, quotas and erasures', [
      republishAccess(),
      replayAccess(),
    ]),
    auditCommand(),
    group('dead-letters', 'Look at messages that could not be applied; retry or drop them', [
      listLetters(),
      showLetter(),
      retryLetters(),
      dropLetters(),
      skipBatch(),
    ]),
    rebuildCommand(),
    rollbackCommand(),
    group('generations', 'Look at the generations of read models; take one into use or drop it', [
      listGenerations(),
      flipGeneration(),
      dropGeneration(),
    ]),
    lagCommand(),
    verifyCommand(),
    configCommand(),
    completionCommand(),
  ]);
  return program;
}

/** A command that consists of others. */
function group(name: string, description: string, commands: readonly CommandUnknownOpts[]): Command {
  const parent = new Command(name).description(description);
  for (const command of commands) parent.addCommand(command);
  return parent;
}

/** Adds commands, for which all holds then that the program decides about wrong usage, and what `help.txt` says of them. */
function add(parent: CommandUnknownOpts, commands: readonly CommandUnknownOpts[]): void {
  for (const command of commands) {
    if (command.parent === null) parent.addCommand(command);
    add(command.copyInheritedSettings(parent), command.commands);
    tellMistakes(command);
    const path = [parent.parent === null ? '' : `${parent.name()} `, command.name()];
    command.addHelpText('after', HELP.get(path.join('')) ?? '');
  }
}

/** Says what is wrong with what was typed, and where it is said what is right. */
function tellMistakes(command: CommandUnknownOpts): void {
  command.configureOutput({
    outputError: (text) => {
      const names = [];
      for (let at: CommandUnknownOpts | null = command; at !== null; at = at.parent) names.unshift(at.name());
      fail('command_invalid', `${oneLine(text)}; see ${names.join(' ')} --help`);
    },
  });
}

/** Commander breaks hints off into lines of their own. */
function oneLine(text: string): string {
  return text
    .replace(/^error: /, '')
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ')
    .replace(/\.$/, '');
}
