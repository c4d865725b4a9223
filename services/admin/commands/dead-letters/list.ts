/** `dead-letters list`: what could not be applied, and why, without the messages themselves. */
import type { Command } from 'commander';
import type { RejectionReason } from '#shared/events/rejection.ts';
import { withServers } from '../../connection/servers.ts';
import { letterBoxes } from '../../dead-letters/boxes.ts';
import { countLetters, describeCount } from '../../dead-letters/count.ts';
import { readShown } from '../../dead-letters/erased.ts';
import { toBuffer } from '../../dead-letters/message.ts';
import {
  findSummaries,
  letterFilter,
  letterReason,
  type LetterSummary,
} from '../../dead-letters/selection.ts';
import { chooseEnvironments, environmentOption, jsonOption, limitOption } from '../../options.ts';
import { formatAge, formatBytes } from '../../output/durations.ts';
import { print, printJson } from '../../output/print.ts';
import { renderTable } from '../../output/table.ts';

interface Flags {
  environment?: string;
  reason?: RejectionReason;
  limit: number;
  json?: true;
}

const EXAMPLES = `
Examples:
  npm run store-data -- dead-letters list
  npm run store-data -- dead-letters list -e production --reason invalid_data`;

export function addListCommand(letters: Command): void {
  letters
    .command('list')
    .description('List dead letters in the order of their log')
    .addOption(environmentOption('only those of an environment'))
    .option('--reason <reason>', 'only those of one reason', letterReason)
    .addOption(limitOption(50))
    .addOption(jsonOption())
    .addHelpText('after', EXAMPLES)
    .action(list);
}

async function list(flags: Flags): Promise<void> {
  await withServers(async (servers) => {
    const boxes = await letterBoxes(servers, chooseEnvironments(servers.config, flags.environment));
    const selection = { reason: flags.reason };
    const shown: LetterSummary[] = [];
    for (const box of boxes) {
      const rest = flags.limit - shown.length;
      if (rest <= 0) continue;
      const found = await readShown(await servers.mongodb(), box, (shownBox, session) =>
        findSummaries(shownBox, letterFilter(box, selection), { limit: rest, session }).toArray(),
      );
      shown.push(...found);
    }
    const count = await countLetters(boxes, selection);
    if (flags.json) {
      printJson({ total: count.total, by_reason: count.byReason, dead_letters: shown.map(toJson) });
      return;
    }
    if (shown.length > 0) print(`${toTable(shown)}\n`);
    print(
      describeCount(count) + (shown.length < count.letters ? `; shown are the first ${shown.length}` : ''),
    );
  });
}

function toTable(letters: LetterSummary[]): string {
  return renderTable(
    [
      { title: 'ID' },
      { title: 'REASON' },
      { title: 'SIZE', align: 'right' },
      { title: 'DEAD FOR', align: 'right' },
    ],
    letters.map(({ _id, reason, value_bytes, dead_at, gathered }) => [
      _id,
      gathered === undefined ? reason : `${reason}, ${gathered.count} together`,
      gathered === undefined ? formatBytes(value_bytes) : '',
      formatAge(dead_at),
    ]),
  );
}

function toJson(letter: LetterSummary): object {
  const { _id, topic, partition, offset, reason, detail, key, value_bytes, gathered } = letter;
  return {
    id: _id,
    topic,
    partition,
    offset,
    reason,
    detail,
    key: key === null ? null : toBuffer(key).toString('utf8'),
    value_bytes,
    cut: letter.cut === true,
    erased: letter.erased === true,
    gathered: gathered ?? null,
    published_at: letter.published_at,
    dead_at: letter.dead_at,
  };
}
