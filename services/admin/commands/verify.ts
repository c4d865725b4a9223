/**
 * `verify`: compares counts, rank trees and feed positions with the records, and repairs them; with
 * `--deep` the records with the log.
 */
import { findErasedIn } from '#shared/access/erased-stores.ts';
import { commandInvalid, hasCode, notFound, StoreDataError, unavailable } from '#shared/errors.ts';
import { sumOf } from '#shared/kafka/positions.ts';
import { forSnapshots } from '#shared/mongodb.ts';
import { readPositions } from '#shared/projection/slice/checkpoint.ts';
import { repairStore, type Difference, verifyStore } from '#shared/projection/verify/store.ts';
import {
  CATEGORY_PRODUCTS,
  TOMBSTONES,
  stampsIn,
  tombstonesIn,
} from '#shared/read-models/collections.ts';
import { withoutCustomer } from '#shared/read-models/erasures.ts';
import { describeOtherRelease } from '#shared/read-models/generation.ts';
import { DEFAULT_OFFSET } from '#shared/read-models/local-time.ts';
import {
  type Content,
  type Contents,
  differingFields,
  kindOf,
  rangesOf,
  readContents,
  scanRange,
  type Side,
  type Sides,
  storesIn,
} from '../generations/records.ts';
import { command, environmentOption, storeOption } from '../options.ts';
import {
  markFailed,
  printResult,
  remark,
  shortened,
  tableOf,
  createProgress,
  stopSignal,
} from '../output.ts';
import { type Environment, openServers } from '../servers.ts';
import { inSnapshot } from '../transaction.ts';
import { createReplay, deadLetterPlaces, withPrivateDatabase } from '../generations/replay.ts';
import type { Db } from 'mongodb';

interface Result {
  stores: number;
  repaired: number;
  deep?: { records: number; messages: number; differences: number };
  differences: (Omit<Difference, 'storeId'> & { environment: string; store: string })[];
}

export const verifyCommand = () =>
  command(
    'verify',
    'Count records one by one, and compare counts, rank trees and feed positions with them',
  )
    .addOption(environmentOption('only that environment'))
    .addOption(storeOption('only that store'))
    .option('--deep', 'also compare every record with the log')
    .option(
      '--repair',
      'rebuild what differs, and repeat to followers what had no feed position of its own',
    )
    .action(async ({ store, ...flags }) => {
      await using servers = await openServers();
      const result: Result = {
        stores: 0,
        repaired: 0,
        ...(flags.deep && { deep: { records: 0, messages: 0, differences: 0 } }),
        differences: [],
      };
      const { deep, differences } = result;
      const stopping = stopSignal();
      const progress = createProgress();
      const step = (text: string) => {
        if (stopping.aborted) throw commandInvalid('interrupted');
        progress(text);
      };
      for (const environment of servers.environmentsOf(flags)) {
        const { name } = environment;
        const generation = await environment.liveGeneration();
        if (generation === null) continue;
        const other = describeOtherRelease(generation.marker);
        if (other !== null) throw new StoreDataError('generation_unsuitable', other);
        const { db } = generation;
        const report = ({ storeId, ...difference }: Difference) =>
          differences.push({ environment: name, store: storeId, ...difference });
        for (const storeId of [...(await storesIn(db, store))].toSorted()) {
          result.stores += 1;
          step(`${name}: ${storeId}`);
          const verify = () =>
            inSnapshot(db.client, (session) => verifyStore(forSnapshots(db), session, storeId));
          let found = await verify();
          if (found.length > 0 && flags.repair) {
            remark(`${name}: ${storeId} differs in ${found.length} places, and is repaired`);
            await repairStore(db, storeId, findErasedIn(await servers.control(), name));
            result.repaired += 1;
            found = await verify();
          }
          found.forEach(report);
        }
        if (deep !== undefined)
          await compareWithLog(environment, db, { only: store, step, counts: deep, report });
      }
      if (store !== undefined && result.stores === 0 && differences.length === 0) {
        throw notFound(`no record of a store ${store} has arrived`);
      }
      show(result);
      if (differences.length > 0) markFailed();
    });

/** The counts of all facets would fill the screen; JSON has all. */
const MAX_SHOWN = 30;

function show(result: Result): void {
  const { stores, repaired, deep, differences } = result;
  const table = tableOf(differences, [
    'environment',
    'store',
    'what',
    ['STORED', ({ stored }) => shortened(stored, MAX_SHOWN)],
    ['EXPECTED', ({ counted }) => shortened(counted, MAX_SHOWN)],
  ]);
  const after = repaired > 0 ? `, ${repaired} repaired` : '';
  const compared =
    deep === undefined
      ? ''
      : `, ${deep.records} records compared with the ${deep.messages} messages of the log`;
  // A deep verification lists only the first differences.
  const count = Math.max(differences.length, deep?.differences ?? 0);
  const verdict = count === 0 ? 'no differences' : `${count} differences`;
  printResult(
    result,
    `${count > 0 ? table : ''}${stores} stores verified${after}${compared}: ${verdict}`,
  );
}

/** More are only counted: a lost collection would fill the memory. */
const MAX_LISTED = 10_000;
/** `SnapshotTooOld`, `SnapshotUnavailable`. */
const SNAPSHOT_GONE = [239, 246];

interface CompareOptions {
  only: string | undefined;
  /** Shows the progress. @throws {StoreDataError} `command_invalid` once it is interrupted. */
  step: (text: string) => void;
  counts: NonNullable<Result['deep']>;
  /** Called with the first differences: ids and names of fields, never values. */
  report: (difference: Difference) => void;
}

/**
 * With `--deep`: replays the log into a private database up to the checkpoints of one snapshot, and compares every record with it.
 * @throws {StoreDataError} `history_lost` if the topic has lost its beginning.
 */
async function compareWithLog(
  environment: Environment,
  live: Db,
  options: CompareOptions,
): Promise<void> {
  const { servers, name, topic } = environment;
  const { only, counts } = options;
  const { client } = live;
  const control = await servers.control();
  const step = (text: string) => options.step(`${topic}: ${text}`);
  // Before the log is read: later stores may come from events that are not read.
  const present = only === undefined ? await storesIn(live) : new Set([only]);
  const prefix = `${servers.config.namePrefix}_${name}_v`;
  const reader = await servers.logReader(topic);
  const compare = async (db: Db) => {
    const early = await readPositions(live, topic);
    const progress = (read: number) => step(`applied ${read} of ${sumOf(early)} messages`);
    const findErased = findErasedIn(control, name);
    const replay = createReplay({ db, control, reader, findErased, topic, only, progress });
    // Most of the log before the snapshot, which MongoDB keeps for some minutes only.
    await replay.apply(new Map(), early, await deadLetterPlaces(live, topic));
    await client.withSession({ snapshot: true }, async (session) => {
      const actual: Side = { db: forSnapshots(live), session };
      const to = await readPositions(actual.db, topic, { session });
      const letters = await deadLetterPlaces(actual.db, topic, session);
      await replay.apply(early, to, letters);
      await replay.applyRetried(letters);
      counts.messages += sumOf(to);
      await client.withSession(async (own) => {
        const comparing = {
          expected: { db, session: own },
          actual,
          spread: replay.spread,
          ...options,
        };
        const known = new Set<string>(await stampsIn(db).distinct('_id'));
        for (const storeId of known) {
          step(`compares the records of ${storeId}`);
          await compareStore(comparing, storeId);
        }
        for (const storeId of present.difference(known)) {
          if ((await storesIn(live, storeId)).size === 0) continue;
          add(options, { storeId, what: 'the store', stored: 'records', counted: 'no event' });
        }
      });
    });
  };
  try {
    await withPrivateDatabase(client, prefix, compare);
  } catch (error) {
    if (!hasCode(error, ...SNAPSHOT_GONE)) throw error;
    throw unavailable(
      'MongoDB dropped the snapshot of this comparison: verify store by store (--store), ' +
        'or raise its parameter minSnapshotHistoryWindowInSeconds',
      error,
    );
  }
}

interface Comparing extends CompareOptions, Sides {
  spread: ReadonlySet<string>;
}

async function compareStore(comparing: Comparing, storeId: string): Promise<void> {
  const { expected, spread, counts } = comparing;
  const { db, session } = expected;
  const stamp = await stampsIn(db).findOne({ _id: storeId }, { session });
  const offset = stamp?.timezone_offset ?? DEFAULT_OFFSET;
  for (const range of rangesOf(storeId)) {
    const { collection, entity, owner } = range;
    // These counts were compared with the records.
    if (collection === CATEGORY_PRODUCTS) continue;
    const isTombstone = collection === TOMBSTONES;
    const scanned = await scanRange(comparing, range, 1, offset);
    if (!isTombstone) counts.records += scanned.expected;
    for await (const { record, ...contents } of readContents(
      comparing,
      collection,
      scanned.differing,
    )) {
      if (spread.has(storeId) && isErasureApart(contents)) continue;
      const { id } = record;
      const words = isTombstone
        ? ofTombstone(contents)
        : await ofRecord(expected, `${entity}/${id}`, contents);
      add(comparing, { storeId, what: `${entity} ${id.slice(owner.length + 1)}`, ...words });
    }
  }
}

type Words = Pick<Difference, 'stored' | 'counted'>;

async function ofRecord(
  { db, session }: Side,
  tombstone: string,
  contents: Contents,
): Promise<Words> {
  const { one, other } = contents;
  const version = (content: Content) => `version ${content.get('sequence')}`;
  const kind = kindOf(contents);
  if (kind === 'missing') return { stored: 'missing', counted: version(one) };
  if (kind === 'version') return { stored: version(other), counted: version(one) };
  if (kind === 'content') {
    const fields = new Set(differingFields(one, other).map((field) => field.split('.')[0]));
    return { stored: `other ${[...fields].join(', ')}`, counted: `${version(one)} as projected` };
  }
  const found = await tombstonesIn(db).findOne({ _id: tombstone }, { session });
  return {
    stored: 'a document',
    counted: found ? `deleted in version ${found.sequence}` : 'no event',
  };
}

function ofTombstone({ one, other }: Contents): Words {
  const deleted = (content: Content) => `deleted in version ${content.get('sequence')}`;
  return {
    stored: other.size === 0 ? 'no tombstone' : deleted(other),
    counted: one.size === 0 ? 'not deleted' : deleted(one),
  };
}

/** Whether the only difference is that one side has its customer erased. */
function isErasureApart({ one, other }: Contents): boolean {
  const isJson = (name: string) => name === 'summary' || name === 'whole';
  const erased = (content: Content) =>
    new Map(
      [...content].map(([name, text]) => [name, isJson(name) ? withoutCustomer(text) : text]),
    );
  try {
    return one.has('customer_id') && differingFields(erased(one), erased(other)).length === 0;
  } catch {
    // Damaged JSON.
    return false;
  }
}

function add({ counts, report }: CompareOptions, difference: Difference): void {
  counts.differences += 1;
  if (counts.differences <= MAX_LISTED) report(difference);
}
