/** `dead-letters retry`: applies what could not be applied before, after a release or a key that was missing. */
import type { Command } from 'commander';
import { type Servers, withServers } from '../../connection/servers.ts';
import { type LetterBox, letterBoxes } from '../../dead-letters/boxes.ts';
import { isCut } from '../../dead-letters/message.ts';
import { type RetryResult, retryLetters, type Stayed } from '../../dead-letters/retry.ts';
import {
  checkSelection,
  findSummaries,
  letterFilter,
  type LetterSummary,
  type SelectionFlags,
} from '../../dead-letters/selection.ts';
import { letterSlices } from '../../dead-letters/slices.ts';
import { chooseEnvironments } from '../../options.ts';
import { markFailed, print, printJson, remark } from '../../output/print.ts';
import { printable } from '../../output/printable.ts';
import { addSelection } from './selection-options.ts';

type Flags = SelectionFlags & { json?: true };

const HELP = `
A letter is applied as the projector would: one that is older than what is
applied by now changes nothing. What was applied is removed from the dead
letters, what still cannot be applied stays, and the exit code is then 1.

Examples:
  npm run store-data -- dead-letters retry store-changes.production/0/1234
  npm run store-data -- dead-letters retry --reason unknown_type -e production`;

export function addRetryCommand(letters: Command): void {
  addSelection(letters.command('retry').description('Apply dead letters'), 'retry')
    .addHelpText('after', HELP)
    .action(retry);
}

async function retry(ids: string[], flags: Flags): Promise<void> {
  checkSelection(ids, flags);
  await withServers(async (servers) => {
    const total: RetryResult = { applied: 0, outdated: 0, stayed: [], gone: [] };
    const seen = new Set<string>();
    for (const box of await letterBoxes(servers, chooseEnvironments(servers.config, flags.environment))) {
      const found = findSummaries(box, letterFilter(box, { ids, reason: flags.reason }));
      for await (const slice of letterSlices(found)) {
        for (const { _id } of slice) seen.add(_id);
        const result = await retrySlice(servers, box, slice);
        total.applied += result.applied;
        total.outdated += result.outdated;
        total.stayed.push(...result.stayed);
        total.gone.push(...result.gone);
        if (!flags.json) for (const stayed of result.stayed) remark(describeStayed(stayed));
      }
    }
    const missing = ids.filter((id) => !seen.has(id));
    for (const id of missing) remark(`store-data: there is no dead letter ${id}`);
    const { applied, outdated, stayed, gone } = total;
    if (flags.json) printJson({ applied, outdated, stayed, gone, missing });
    else print(`applied ${applied}, outdated ${outdated}, still dead ${stayed.length}`);
    if (stayed.length > 0 || missing.length > 0) markFailed();
  });
}

async function retrySlice(servers: Servers, box: LetterBox, slice: LetterSummary[]): Promise<RetryResult> {
  const hopeless = slice.flatMap((letter): Stayed[] => {
    const obstacle = obstacleOf(box, letter);
    return obstacle === null ? [] : [{ id: letter._id, reason: letter.reason, detail: obstacle }];
  });
  const without = new Set(hopeless.map(({ id }) => id));
  const ids = slice.map(({ _id }) => _id).filter((id) => !without.has(id));
  if (ids.length === 0) return { applied: 0, outdated: 0, stayed: hopeless, gone: [] };
  const result = await retryLetters(
    {
      mongodb: await servers.mongodb(),
      redis: () => servers.redis(),
      prefix: servers.config.namePrefix,
    },
    box,
    ids,
  );
  const order = new Map(slice.map(({ _id }, index) => [_id, index]));
  const stayed = [...hopeless, ...result.stayed].toSorted(
    (a, b) => (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0),
  );
  return { ...result, stayed };
}

/** Why a letter need not even be tried; `null` where it is worth it. */
function obstacleOf({ obstacle }: LetterBox, { value_bytes, kept_bytes }: LetterSummary): string | null {
  if (!isCut({ value_bytes, kept: kept_bytes })) return obstacle;
  return `only ${kept_bytes} of its ${value_bytes} bytes are kept: it can never be retried`;
}

function describeStayed({ id, reason, detail }: Stayed): string {
  return `${id}: ${reason}: ${printable(detail)}`;
}
