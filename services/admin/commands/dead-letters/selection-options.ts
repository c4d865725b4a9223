/** The arguments and options with which `retry` and `drop` say which letters they mean. */
import type { Command } from 'commander';
import { environmentOption, jsonOption } from '../../options.ts';
import { letterIds, letterReason } from '../../dead-letters/selection.ts';

export function addSelection(command: Command, verb: string): Command {
  return command
    .argument('[ids...]', `letters to ${verb}: <topic>/<partition>/<offset>`, letterIds)
    .option('--reason <reason>', `${verb} those of one reason`, letterReason)
    .option('--all', `${verb} all`)
    .addOption(environmentOption('with --reason or --all: only those of an environment'))
    .addOption(jsonOption());
}
