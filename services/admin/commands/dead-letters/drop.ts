/** `dead-letters drop`: forgets messages that nobody will ever apply. */
import type { Command } from 'commander';
import { StoreDataError } from '#shared/errors.ts';
import { withServers } from '../../connection/servers.ts';
import { letterBoxes } from '../../dead-letters/boxes.ts';
import { countLetters, describeCount } from '../../dead-letters/count.ts';
import { dropLetters } from '../../dead-letters/drop.ts';
import { checkSelection, type SelectionFlags } from '../../dead-letters/selection.ts';
import { chooseEnvironments, WrongUsage } from '../../options.ts';
import { canAsk, confirm } from '../../output/confirm.ts';
import { markFailed, print, printJson, remark } from '../../output/print.ts';
import { addSelection } from './selection-options.ts';

type Flags = SelectionFlags & { yes?: true; json?: true };

const HELP = `
A dropped letter cannot be brought back, and a rebuild leaves its message out.
On a terminal the command asks first; elsewhere it needs --yes.

Examples:
  npm run store-data -- dead-letters drop store-changes.production/0/1234
  npm run store-data -- dead-letters drop --reason too_large -e sandbox --yes`;

export function addDropCommand(letters: Command): void {
  addSelection(letters.command('drop').description('Remove dead letters for good'), 'drop')
    .option('-y, --yes', 'do not ask')
    .addHelpText('after', HELP)
    .action(drop);
}

async function drop(ids: string[], flags: Flags): Promise<void> {
  checkSelection(ids, flags);
  if (!flags.yes && !canAsk()) {
    throw new WrongUsage('nobody can be asked here: give --yes to drop dead letters for good');
  }
  await withServers(async (servers) => {
    const boxes = await letterBoxes(servers, chooseEnvironments(servers.config, flags.environment));
    // Letters that come while the operator answers the question were not part of it.
    const until = new Date();
    const count = await countLetters(boxes, { ids, reason: flags.reason, until });
    if (ids.length > count.letters) {
      remark(`store-data: ${ids.length - count.letters} of the ${ids.length} dead letters are not there`);
      markFailed();
    }
    if (count.total > 0 && !flags.yes && !(await confirm(`Drop ${describeCount(count)} for good?`))) {
      throw new StoreDataError('command_invalid', 'nothing was dropped');
    }
    let dropped = 0;
    for (const box of boxes) {
      dropped += await dropLetters(servers, box, { ids, reason: flags.reason, until });
    }
    if (flags.json) printJson({ dropped });
    else print(`dropped ${dropped}`);
  });
}
