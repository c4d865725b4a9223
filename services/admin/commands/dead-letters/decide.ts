/** `dead-letters retry` applies what could not be applied before, after a release or a key that was missing; `drop` forgets it for good. */
import { Command } from '@commander-js/extra-typings';
import { inBatches } from '#shared/waiting.ts';
import { decisionsIn, decisionToDrop } from '#shared/projection/dead-letters/decisions.ts';
import { type Servers, withServers } from '../../connection/servers.ts';
import {
  checkSelection,
  countLetters,
  type DeadLetterSource,
  deadLetterSources,
  describeCount,
  findSummaries,
  letterFilter,
  letterIds,
  letterReason,
  type LetterSelection,
  otherSources,
} from '../../dead-letters/letters.ts';
import { addUp, LetterRetry, type RetryResult } from '../../dead-letters/retry.ts';
import { environmentOption, jsonOption } from '../../options.ts';
import { markFailed, printable, printResult, remark } from '../../output/print.ts';
import { askFor, checkCanAsk } from '../../output/terminal.ts';

function selectionCommand(verb: string, description: string) {
  return new Command(verb)
    .description(description)
    .argument('[ids...]', `letters to ${verb}: <topic>/<partition>/<offset>`, letterIds)
    .option('--reason <reason>', `${verb} those of one reason`, letterReason)
    .option('--all', `${verb} all`)
    .addOption(environmentOption('with --reason or --all: only those of an environment'))
    .addOption(jsonOption());
}

export const retryCommand = () =>
  selectionCommand('retry', 'Apply dead letters').action(async (ids, flags) => {
    checkSelection(ids, flags);
    await withServers(async (servers) => {
      const retry = new LetterRetry(servers);
      const results: RetryResult[] = [];
      const missing = new Set(ids);
      const sources = await deadLetterSources(servers, ids, flags.environment);
      try {
        for (const source of sources) {
          for await (const { ids: tried, result } of retry.all(source, { ids, reason: flags.reason })) {
            for (const id of tried) missing.delete(id);
            results.push(result);
            if (flags.json) continue;
            for (const { id, reason, detail } of result.stayed)
              remark(`${id}: ${reason}: ${printable(detail)}`);
          }
        }
      } finally {
        await retry.close();
      }
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

export const dropCommand = () =>
  selectionCommand('drop', 'Remove dead letters for good')
    .option('-y, --yes', 'do not ask')
    .action(async (ids, flags) => {
      checkSelection(ids, flags);
      checkCanAsk(flags, 'drop dead letters for good');
      await withServers(async (servers) => {
        const sources = await deadLetterSources(servers, ids, flags.environment);
        // Letters that come while the operator answers the question were not part of it.
        const until = new Date();
        const count = await countLetters(sources, { ids, reason: flags.reason, until });
        if (ids.length > count.letters) {
          remark(`store-data: ${ids.length - count.letters} of the ${ids.length} dead letters are not there`);
          markFailed();
        }
        if (count.total > 0) {
          await askFor(flags, `Drop ${describeCount(count)} for good?`, 'nothing was dropped');
        }
        let dropped = 0;
        for (const source of sources) {
          dropped += await dropLetters(servers, source, { ids, reason: flags.reason, until });
        }
        printResult(flags, { dropped }, `dropped ${dropped}`);
      });
    });

const DROP_BATCH = 1_000;

/** Drops what a selection has in a source, in other generations too. @returns how many letters of the source itself. */
async function dropLetters(
  servers: Servers,
  source: DeadLetterSource,
  selection: LetterSelection,
): Promise<number> {
  const others = (await otherSources(servers, source)).map(({ letters }) => letters);
  let dropped = 0;
  for await (const batch of inBatches(findSummaries(source, letterFilter(source, selection)), DROP_BATCH)) {
    if (source.kind === 'changes') {
      const decisions = batch.map(decisionToDrop).map(({ _id, ...replacement }) => ({
        replaceOne: { filter: { _id }, replacement, upsert: true },
      }));
      await decisionsIn(await servers.control()).bulkWrite(decisions, { ordered: false });
    }
    const filter = { _id: { $in: batch.map(({ _id }) => _id) } };
    for (const letters of others) await letters.deleteMany(filter);
    dropped += (await source.letters.deleteMany(filter)).deletedCount;
  }
  return dropped;
}
