/** `dead-letters list`: what could not be applied, and why, without the messages themselves. */
import { Command } from '@commander-js/extra-typings';
import { withServers } from '../../connection/servers.ts';
import {
  countLetters,
  describeCount,
  findSummaries,
  deadLetterSources,
  letterFilter,
  letterReason,
  type LetterSummary,
  readShown,
} from '../../dead-letters/letters.ts';
import { letterJson } from '../../dead-letters/describe.ts';
import { chooseEnvironments, environmentOption, jsonOption, limitOption } from '../../options.ts';
import { formatAge, formatBytes } from '../../output/durations.ts';
import { printResult, tableOf } from '../../output/print.ts';

export const listCommand = () =>
  new Command('list')
    .description('List dead letters in the order of their log')
    .addOption(environmentOption('only those of an environment'))
    .option('--reason <reason>', 'only those of one reason', letterReason)
    .addOption(limitOption(50))
    .addOption(jsonOption())
    .action((flags) =>
      withServers(async (servers) => {
        const sources = await deadLetterSources(
          servers,
          chooseEnvironments(servers.config, flags.environment),
        );
        const selection = { reason: flags.reason };
        const shown: LetterSummary[] = [];
        for (const source of sources) {
          const rest = flags.limit - shown.length;
          if (rest <= 0) continue;
          const found = await readShown(source, (shownSource, session) =>
            findSummaries(shownSource, letterFilter(source, selection), { limit: rest, session }).toArray(),
          );
          shown.push(...found);
        }
        const count = await countLetters(sources, selection);
        const first = shown.length < count.letters ? `; shown are the first ${shown.length}` : '';
        printResult(
          flags,
          { total: count.total, by_reason: count.byReason, dead_letters: shown.map(letterJson) },
          `${shown.length > 0 ? `${toTable(shown)}\n` : ''}${describeCount(count)}${first}`,
        );
      }),
    );

function toTable(letters: LetterSummary[]): string {
  return tableOf(letters, [
    ['ID', ({ _id }) => _id],
    [
      'REASON',
      ({ reason, gathered }) => (gathered ? `${reason}, ${gathered.count} together` : reason),
      'fills',
    ],
    ['SIZE', ({ value_bytes, gathered }) => (gathered ? '' : formatBytes(value_bytes)), 'right'],
    ['DEAD FOR', ({ dead_at }) => formatAge(dead_at), 'right'],
  ]);
}
