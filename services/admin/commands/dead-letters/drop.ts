/** `dead-letters drop`: forgets messages that nobody will ever apply. */
import { withServers } from '../../connection/servers.ts';
import { letterBoxes } from '../../dead-letters/boxes.ts';
import { countLetters, describeCount } from '../../dead-letters/count.ts';
import { dropLetters } from '../../dead-letters/drop.ts';
import { checkSelection, environmentsOf } from '../../dead-letters/selection.ts';
import { askFor, checkCanAsk } from '../../output/confirm.ts';
import { markFailed, printResult, remark } from '../../output/print.ts';
import { selectionCommand } from './selection-options.ts';

export const dropCommand = () =>
  selectionCommand('drop', 'Remove dead letters for good')
    .option('-y, --yes', 'do not ask')
    .action(async (ids, flags) => {
      checkSelection(ids, flags);
      checkCanAsk(flags, 'drop dead letters for good');
      await withServers(async (servers) => {
        const boxes = await letterBoxes(servers, environmentsOf(servers.config, ids, flags.environment));
        // Letters that come while the operator answers the question were not part of it.
        const until = new Date();
        const count = await countLetters(boxes, { ids, reason: flags.reason, until });
        if (ids.length > count.letters) {
          remark(`store-data: ${ids.length - count.letters} of the ${ids.length} dead letters are not there`);
          markFailed();
        }
        if (count.total > 0) {
          await askFor(flags, `Drop ${describeCount(count)} for good?`, 'nothing was dropped');
        }
        let dropped = 0;
        for (const box of boxes) {
          dropped += await dropLetters(servers, box, { ids, reason: flags.reason, until });
        }
        printResult(flags, { dropped }, `dropped ${dropped}`);
      });
    });
