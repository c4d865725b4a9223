/** `dead-letters retry`: applies what could not be applied before, after a release or a key that was missing. */
import { Epochs } from '#shared/projection/changes/epochs.ts';
import { type Servers, withServers } from '../../connection/servers.ts';
import { type LetterBox, letterBoxes, otherBoxes } from '../../dead-letters/boxes.ts';
import { MessagesInKafka } from '../../dead-letters/from-kafka.ts';
import { type RetryOptions, type RetryResult, retryLetters, type Stayed } from '../../dead-letters/retry.ts';
import {
  checkSelection,
  findSummaries,
  letterFilter,
  type LetterSummary,
} from '../../dead-letters/selection.ts';
import { letterSlices } from '../../dead-letters/slices.ts';
import { chooseEnvironments } from '../../options.ts';
import { markFailed, printable, printResult, remark } from '../../output/print.ts';
import { selectionCommand } from './selection-options.ts';

export const retryCommand = () =>
  selectionCommand('retry', 'Apply dead letters').action(async (ids, flags) => {
    checkSelection(ids, flags);
    await withServers(async (servers) => {
      const retrying: Retrying = { servers, inKafka: new MessagesInKafka(servers), epochs: new Map() };
      const total: RetryResult = { applied: 0, outdated: 0, stayed: [], gone: [] };
      const seen = new Set<string>();
      for (const box of await letterBoxes(servers, chooseEnvironments(servers.config, flags.environment))) {
        const found = findSummaries(box, letterFilter(box, { ids, reason: flags.reason }));
        for await (const slice of letterSlices(found)) {
          for (const { _id } of slice) seen.add(_id);
          const result = await retrySlice(retrying, box, slice);
          await retryElsewhere(retrying, box, slice);
          total.applied += result.applied;
          total.outdated += result.outdated;
          total.stayed.push(...result.stayed);
          total.gone.push(...result.gone);
          if (!flags.json) for (const stayed of result.stayed) remark(describeStayed(stayed));
        }
      }
      await retrying.inKafka.close();
      const missing = ids.filter((id) => !seen.has(id));
      for (const id of missing) remark(`store-data: there is no dead letter ${id}`);
      const { applied, outdated, stayed, gone } = total;
      printResult(
        flags,
        { applied, outdated, stayed, gone, missing },
        `applied ${applied}, outdated ${outdated}, still dead ${stayed.length}`,
      );
      if (stayed.length > 0 || missing.length > 0) markFailed();
    });
  });

interface Retrying {
  servers: Servers;
  inKafka: MessagesInKafka;
  /** By database. */
  epochs: Map<string, Epochs>;
}

async function retrySlice(
  { servers, inKafka, epochs }: Retrying,
  box: LetterBox,
  slice: LetterSummary[],
): Promise<RetryResult> {
  if (box.obstacle !== null) return stuck(slice, box.obstacle);
  const database = box.db.databaseName;
  const known = epochs.get(database) ?? new Epochs();
  epochs.set(database, known);
  const options: RetryOptions = {
    mongodb: await servers.mongodb(),
    redis: () => servers.redis(),
    prefix: servers.config.namePrefix,
    epochs: known,
  };
  const cut = slice.filter((letter) => letter.cut);
  const fetched = await inKafka.of(cut);
  const lost = cut.filter(({ _id }) => !fetched.has(_id));
  const without = new Set(lost.map(({ _id }) => _id));
  const ids = slice.map(({ _id }) => _id).filter((id) => !without.has(id));
  const isBatch = lost.some(({ gathered }) => gathered !== undefined);
  const hopeless = stuck(
    lost,
    isBatch
      ? 'its batch still cannot be read, or Kafka does not have it any longer'
      : 'its message is not kept, and Kafka does not have it any longer',
  );
  if (ids.length === 0) return hopeless;
  const result = await retryLetters(options, box, ids, fetched);
  const order = new Map(slice.map(({ _id }, index) => [_id, index]));
  const stayed = [...hopeless.stayed, ...result.stayed].toSorted(
    (a, b) => (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0),
  );
  return { ...result, stayed };
}

/** Generations that are not live shall have the same effect, so that going over to one of them loses nothing. */
async function retryElsewhere(
  retrying: Retrying,
  box: LetterBox,
  slice: readonly LetterSummary[],
): Promise<void> {
  const ids = slice.map(({ _id }) => _id);
  for (const other of await otherBoxes(retrying.servers, box)) {
    for await (const found of letterSlices(findSummaries(other, letterFilter(other, { ids })))) {
      await retrySlice(retrying, other, found);
    }
  }
}

/** The result for letters that need not even be tried. */
function stuck(letters: readonly LetterSummary[], detail: string): RetryResult {
  const stayed = letters.map(({ _id, reason }): Stayed => ({ id: _id, reason, detail }));
  return { applied: 0, outdated: 0, stayed, gone: [] };
}

function describeStayed({ id, reason, detail }: Stayed): string {
  return `${id}: ${reason}: ${printable(detail)}`;
}
