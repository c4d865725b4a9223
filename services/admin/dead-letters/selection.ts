/** Which dead letters a command means: some by their ids, those of one reason, or all. */
import { InvalidArgumentError } from 'commander';
import type { ClientSession, Filter } from 'mongodb';
import type { Config } from '#shared/config.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { REJECTION_REASONS, type RejectionReason } from '#shared/events/rejection.ts';
import type { DeadLetter } from '#shared/read-models/collections.ts';
import { chooseEnvironments, WrongUsage } from '../options.ts';
import type { LetterBox } from './boxes.ts';

export interface SelectionFlags {
  environment?: string | undefined;
  reason?: RejectionReason | undefined;
  all?: true | undefined;
}

const SUMMARY_FIELDS = [
  'topic',
  'partition',
  'offset',
  'reason',
  'detail',
  'key',
  'value_bytes',
  'published_at',
  'dead_at',
  'cut',
  'erased',
  'gathered',
  'customers',
  'positions',
] as const;

/** A dead letter without its bytes. */
export type LetterSummary = Pick<DeadLetter, '_id' | (typeof SUMMARY_FIELDS)[number]>;

const LETTER_ID = /^[A-Za-z0-9._-]{1,249}\/\d{1,10}\/\d{1,15}$/;

/** An argument that is a dead letter's id. */
export function letterId(text: string): string {
  if (!LETTER_ID.test(text)) {
    throw new InvalidArgumentError('An id of a dead letter is <topic>/<partition>/<offset>.');
  }
  return text;
}

/** The same for an argument that may be repeated. */
export function letterIds(text: string, before: string[] | undefined): string[] {
  return [...new Set([...(before ?? []), letterId(text)])];
}

/** An option that is a reason. */
export function letterReason(text: string): RejectionReason {
  const found = REJECTION_REASONS.find((reason) => reason === text);
  if (found === undefined) throw new InvalidArgumentError(`Reasons are ${REJECTION_REASONS.join(', ')}.`);
  return found;
}

/** @throws {WrongUsage} unless exactly one of ids, `--reason` and `--all` is given. */
export function checkSelection(ids: readonly string[], { reason, all, environment }: SelectionFlags): void {
  const given = [ids.length > 0, reason !== undefined, all === true].filter(Boolean).length;
  if (given !== 1) throw new WrongUsage('say which: ids, or --reason, or --all, and only one of them');
  if (ids.length > 0 && environment !== undefined) {
    throw new WrongUsage('an id says its environment: leave out --environment');
  }
}

export interface LetterSelection {
  /** Only these; with none every letter. */
  ids?: readonly string[];
  reason?: string | undefined;
  /** Only those that were dead by then. */
  until?: Date;
}

/** The environments whose letters are meant: ids say it themselves. */
export function environmentsOf(config: Config, ids: readonly string[], given?: string): string[] {
  const chosen = chooseEnvironments(config, given);
  if (ids.length === 0) return chosen;
  const topics = new Set(ids.map((id) => id.slice(0, id.indexOf('/'))));
  return chosen.filter((name) => topics.has(changesTopic(name)) || topics.has(accessTopic(name)));
}

/** The filter of a selection in one box. */
export function letterFilter({ topic }: LetterBox, selection: LetterSelection): Filter<DeadLetter> {
  const { ids = [], reason, until } = selection;
  return {
    topic,
    ...(ids.length > 0 ? { _id: { $in: [...ids] } } : {}),
    ...(reason === undefined ? {} : { reason }),
    ...(until === undefined ? {} : { dead_at: { $lte: until } }),
  };
}

/** Summaries in the order of their log: a store's letters in the order of its events. */
export function findSummaries(
  box: LetterBox,
  filter: Filter<DeadLetter>,
  { limit, ...options }: { limit?: number; session?: ClientSession } = {},
) {
  return box.letters.aggregate<LetterSummary>(
    [
      { $match: filter },
      {
        // Before the sorting, which would otherwise carry every letter's bytes along.
        $project: Object.fromEntries(SUMMARY_FIELDS.map((field) => [field, 1])),
      },
      { $sort: { topic: 1, partition: 1, offset: 1 } },
      ...(limit === undefined ? [] : [{ $limit: limit }]),
    ],
    options,
  );
}
