/**
 * The dead letters that a command selects: by ids, by a reason, or all; read as they may be shown,
 * and counted.
 */
import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { ClientSession, Db, Filter } from 'mongodb';
import { REJECTION_REASONS } from '#shared/events/rejection.ts';
import { type DeadLetter, lettersIn } from '#shared/read-models/collections.ts';
import { command, environmentOption, WrongUsage } from '../options.ts';
import { type Generation, PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import type { Environment, Servers } from '../servers.ts';
import { contentWithout } from '#shared/projection/dead-letters/write.ts';
import { forSnapshots } from '#shared/mongodb.ts';
import { erasurePositions } from '#shared/read-models/erasures.ts';
import { inSnapshot } from '../transaction.ts';

export type LetterSummary = Omit<DeadLetter, 'value' | 'headers' | 'kept_bytes'>;

const LETTER_ID = /^[A-Za-z0-9._-]{1,249}\/\d{1,10}\/\d{1,15}$/;

export function letterId(text: string): string {
  if (!LETTER_ID.test(text)) {
    throw new InvalidArgumentError('An id of a dead letter is <topic>/<partition>/<offset>.');
  }
  return text;
}

function letterIds(text: string, before: readonly string[] = []): string[] {
  return [...new Set([...before, letterId(text)])];
}

export const reasonOption = (meaning: string) =>
  new Option('--reason <reason>', meaning).choices(REJECTION_REASONS);

/** A command for selected letters. */
export const selectionCommand = (verb: string, description: string) =>
  command(verb, description)
    .argument('[ids...]', `letters to ${verb}: <topic>/<partition>/<offset>`, letterIds)
    .addOption(reasonOption(`${verb} those of one reason`))
    .option('--all', `${verb} all`)
    .addOption(environmentOption('with --reason or --all: only those of an environment'));

type SelectionFlags = ReturnType<ReturnType<typeof selectionCommand>['opts']>;

/** @throws {WrongUsage} unless exactly one of ids, `--reason` and `--all` is given. */
export function checkSelection(
  ids: readonly string[],
  { reason, all, environment }: SelectionFlags,
): void {
  const given = [ids.length > 0, reason !== undefined, all === true].filter(Boolean).length;
  if (given !== 1) throw new WrongUsage('give either ids, or --reason, or --all');
  if (ids.length > 0 && environment !== undefined) {
    throw new WrongUsage('an id names its environment: leave out --environment');
  }
}

export interface LetterSelection {
  /** Only these; if empty, every letter. */
  ids?: readonly string[];
  reason?: string | undefined;
  /** Only those that were dead at that time. */
  until?: Date;
}

function letterFilter({ topic }: DeadLetterSource, selection: LetterSelection): Filter<DeadLetter> {
  const { ids = [], reason, until } = selection;
  return {
    topic,
    ...(ids.length > 0 && { _id: { $in: [...ids] } }),
    ...(reason && { reason }),
    ...(until && { dead_at: { $lte: until } }),
  };
}

/** Summaries in the order of their log: a store's letters in the order of its events. */
export function findSummaries(
  source: DeadLetterSource,
  selection: LetterSelection,
  options: { session?: ClientSession } = {},
) {
  return lettersIn(source.db).aggregate<LetterSummary>(
    [
      { $match: letterFilter(source, selection) },
      // Before the sorting, so that it does not load the letters' bytes.
      { $project: { value: 0, headers: 0, kept_bytes: 0 } },
      { $sort: { topic: 1, partition: 1, offset: 1 } },
    ],
    options,
  );
}

/** The letters of one topic in one database. */
export interface DeadLetterSource {
  environment: Environment;
  kind: 'changes' | 'access';
  topic: string;
  /** Holds the letters, and what a retry changes. */
  db: Db;
  /** Why its letters cannot be retried; `null` if they can. */
  obstacle: string | null;
}

/**
 * The sources of ids, else of the selected environments, in the order in which letters are listed
 * and retried.
 */
export async function deadLetterSources(
  servers: Servers,
  ids: readonly string[],
  flags: { environment?: string | undefined } = {},
): Promise<DeadLetterSource[]> {
  const control = await servers.control();
  const topics = new Set(ids.map((id) => id.slice(0, id.indexOf('/'))));
  const sources: DeadLetterSource[] = [];
  for (const environment of servers.environmentsOf(flags)) {
    const { topic: changes, accessTopic: topic } = environment;
    if (ids.length > 0 && !topics.has(changes) && !topics.has(topic)) continue;
    sources.push({ environment, kind: 'access', topic, db: control, obstacle: null });
    const live = await environment.liveGeneration();
    if (live !== null) sources.push(changesSource(environment, live));
  }
  return sources;
}

/** The same topic's letters in generations that are not live: decisions hold there too. */
export async function otherSources({
  kind,
  environment,
}: DeadLetterSource): Promise<DeadLetterSource[]> {
  if (kind === 'access') return [];
  const generations = await environment.generations();
  return generations.flatMap(({ state, db, marker }) => {
    const isOther = marker !== null && state !== 'live' && state !== 'dropping';
    return isOther ? [changesSource(environment, { db, marker })] : [];
  });
}

function changesSource(environment: Environment, { db, marker }: Generation): DeadLetterSource {
  const { projection_version: version } = marker;
  const obstacle =
    version === PROJECTION_VERSION
      ? null
      : `its read models were made with projection version ${version}, this release has ${PROJECTION_VERSION}`;
  return { environment, kind: 'changes', topic: environment.topic, db, obstacle };
}

/** Reads letters as they may be shown, with the erasures of the same snapshot. */
export async function readShown<L extends Letter>(
  source: DeadLetterSource,
  read: (source: DeadLetterSource, session: ClientSession) => Promise<L[]>,
): Promise<L[]> {
  const db = forSnapshots(source.db);
  return inSnapshot(db.client, async (session) => {
    const letters = await read({ ...source, db }, session);
    return withoutErasedLetters(db, letters, session);
  });
}

type Letter = Pick<DeadLetter, 'customers' | 'positions' | 'erased'>;

/**
 * The letters, without the contents of messages that name a customer whose erasure is under way.
 */
export async function withoutErasedLetters<L extends Letter>(
  db: Db,
  letters: readonly L[],
  session: ClientSession,
): Promise<L[]> {
  const customers = letters.flatMap((letter) => letter.customers ?? []);
  const upTo = await erasurePositions(db, session, customers);
  return letters.map((letter) => {
    const { customers: named = [], positions = {} } = letter;
    const gone = named.filter((customer) => {
      const written = positions[customer.slice(0, customer.indexOf('/'))] ?? 0;
      return written <= (upTo.get(customer) ?? -1);
    });
    return gone.length > 0 ? { ...letter, ...contentWithout(gone) } : letter;
  });
}

/** Counts letters and their messages: one letter may stand for a batch. */
export async function countLetters(
  sources: readonly DeadLetterSource[],
  selection: LetterSelection,
) {
  const result = { letters: 0, total: 0, byReason: {} as Record<string, number> };
  const count = { $sum: { $ifNull: ['$gathered.count', 1] } };
  for (const source of sources) {
    const groups = lettersIn(source.db).aggregate<{ _id: string; count: number; letters: number }>([
      { $match: letterFilter(source, selection) },
      { $group: { _id: '$reason', count, letters: { $sum: 1 } } },
      { $sort: { _id: 1 } },
    ]);
    for await (const group of groups) {
      result.byReason[group._id] = (result.byReason[group._id] ?? 0) + group.count;
      result.total += group.count;
      result.letters += group.letters;
    }
  }
  return result;
}

/** `3 dead letters (2 malformed, 1 too_large)` */
export function describeCount({
  total,
  byReason,
}: Awaited<ReturnType<typeof countLetters>>): string {
  if (total === 0) return 'no dead letters';
  const reasons = Object.entries(byReason).map(([reason, count]) => `${count} ${reason}`);
  return `${total} dead letter${total === 1 ? '' : 's'} (${reasons.join(', ')})`;
}
