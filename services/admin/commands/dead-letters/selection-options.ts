/** The arguments and options with which `retry` and `drop` say which letters they mean. */
import { Command } from '@commander-js/extra-typings';
import { letterIds, letterReason } from '../../dead-letters/selection.ts';
import { environmentOption, jsonOption } from '../../options.ts';

export function selectionCommand(verb: string, description: string) {
  return new Command(verb)
    .description(description)
    .argument('[ids...]', `letters to ${verb}: <topic>/<partition>/<offset>`, letterIds)
    .option('--reason <reason>', `${verb} those of one reason`, letterReason)
    .option('--all', `${verb} all`)
    .addOption(environmentOption('with --reason or --all: only those of an environment'))
    .addOption(jsonOption());
}
