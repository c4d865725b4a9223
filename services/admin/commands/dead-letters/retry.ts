/** `dead-letters retry`: applies what could not be applied before, after a release or a key that was missing. */
import { withServers } from '../../connection/servers.ts';
import { letterBoxes } from '../../dead-letters/boxes.ts';
import { addUp, LetterRetry, type RetryResult } from '../../dead-letters/retry.ts';
import { checkSelection, environmentsOf } from '../../dead-letters/selection.ts';
import { markFailed, printable, printResult, remark } from '../../output/print.ts';
import { selectionCommand } from './selection-options.ts';

export const retryCommand = () =>
  selectionCommand('retry', 'Apply dead letters').action(async (ids, flags) => {
    checkSelection(ids, flags);
    await withServers(async (servers) => {
      const retry = new LetterRetry(servers);
      const results: RetryResult[] = [];
      const missing = new Set(ids);
      for (const box of await letterBoxes(servers, environmentsOf(servers.config, ids, flags.environment))) {
        for await (const { ids: tried, result } of retry.all(box, { ids, reason: flags.reason })) {
          for (const id of tried) missing.delete(id);
          results.push(result);
          if (flags.json) continue;
          for (const { id, reason, detail } of result.stayed)
            remark(`${id}: ${reason}: ${printable(detail)}`);
        }
      }
      await retry.close();
      for (const id of missing) remark(`store-data: there is no dead letter ${id}`);
      const { applied, outdated, stayed, gone } = addUp(results);
      printResult(
        flags,
        { applied, outdated, stayed, gone, missing: [...missing] },
        `applied ${applied}, outdated ${outdated}, still dead ${stayed.length}`,
      );
      if (stayed.length > 0 || missing.size > 0) markFailed();
    });
  });
