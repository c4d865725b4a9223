/**
 * Reads the records of the API, compares a client's copy with them, and describes the differences.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Adversity } from './adversarial-stream.ts';
import type * as Api from './api.d.ts';
import type { CopiedRecord } from './client-process.ts';

interface ExpectedRecord {
  record: Record<string, unknown>;
  timezone_offset: string;
}

type WrongRecords = Pick<Api.FollowerReport, 'missing' | 'stale' | 'notDeleted'>;

const LOCAL_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/;
const MAX_NAMED = 5;
const MAX_DIFFERENCES = 3;

interface Changes {
  results: { kind: string; id: string; record: Record<string, unknown> | null }[];
  timezone_offset: string;
  next: string;
  more: boolean;
}

/** All records of a store, by kind and id, from the beginning of its change feed. */
export async function readRecords(
  api: Api.StoreData,
  key: Api.Key,
  kinds: readonly Api.Kind[],
): Promise<Map<string, ExpectedRecord>> {
  const token = await api.token(key);
  const records = new Map<string, ExpectedRecord>();
  const named = kinds.map((kind) => `&kinds=${kind}`).join('');
  for (let after = ''; ;) {
    const url = `${api.url}/api/changes?records=whole&page_size=1000${named}${after}`;
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    const wait = response.headers.get('retry-after');
    if (response.ok) {
      const { results, timezone_offset, next, more } = (await response.json()) as Changes;
      for (const { kind, id, record } of results) {
        if (record === null) records.delete(`${kind}/${id}`);
        else records.set(`${kind}/${id}`, { record, timezone_offset });
      }
      if (!more) return records;
      after = `&after=${next}`;
    } else if (wait === null) {
      throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
    } else {
      // The client under test shares the quota.
      await sleep(Number(wait) * 1_000);
    }
  }
}

/**
 * Compares records by kind and id, and only the fields that the copy has: clients keep the fields
 * they need.
 */
export function compareCopy(
  copy: ReadonlyMap<string, CopiedRecord>,
  expected: ReadonlyMap<string, ExpectedRecord>,
  kinds: readonly string[],
): WrongRecords {
  const wrong: WrongRecords = { missing: [], stale: [], notDeleted: [] };
  for (const [name, { record, timezone_offset: offset }] of expected) {
    const copied = copy.get(name);
    if (copied === undefined) {
      wrong.missing.push({ name });
      continue;
    }
    const offsets = { copied: copied.timezone_offset ?? offset, expected: offset };
    const differences = differencesOf(copied.record, record, offsets);
    if (differences.length > 0) wrong.stale.push({ name, differences });
  }
  for (const [name, { kind }] of copy) {
    if (!expected.has(name) && kinds.includes(kind)) wrong.notDeleted.push({ name });
  }
  return wrong;
}

type Offsets = Record<'copied' | 'expected', string>;

function differencesOf(copied: unknown, expected: unknown, offsets: Offsets, path = ''): string[] {
  if (isObject(copied) && isObject(expected)) {
    return Object.entries(copied).flatMap(([name, value]) =>
      differencesOf(value, expected[name], offsets, path === '' ? name : `${path}.${name}`),
    );
  }
  if (Array.isArray(copied) && Array.isArray(expected) && copied.length === expected.length) {
    return copied.flatMap((value, index) =>
      differencesOf(value, expected[index], offsets, `${path}[${index}]`),
    );
  }
  if (isSame(copied, expected, offsets)) return [];
  return [`${path} is ${shown(copied)} instead of ${shown(expected)}`];
}

/** A new `timezone_offset` changes no record, so a copy may hold date-times of several offsets. */
function isSame(copied: unknown, expected: unknown, offsets: Offsets): boolean {
  if (copied === expected) return true;
  if (typeof copied !== 'string' || typeof expected !== 'string' || !LOCAL_TIME.test(expected))
    return false;
  const instant = Date.parse(LOCAL_TIME.test(copied) ? copied + offsets.copied : copied);
  return instant === Date.parse(expected + offsets.expected);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  return value === undefined ? 'absent' : JSON.stringify(value).slice(0, 80);
}

export function isRight({ missing, stale, notDeleted }: WrongRecords): boolean {
  return missing.length + stale.length + notDeleted.length === 0;
}

/** Why a client that does not follow the change feed misses such a change. */
const EXPLANATIONS: Partial<Record<Adversity, string>> = {
  'a deletion': 'no list shows deletions; the feed does, by `deleted: true`',
  late: 'it came after newer ones: a window of `updated_at` that was read before does not show it',
  'dated 30 days before it happened':
    'a window of `updated_at` that was read before does not show it',
  'dated 2 days after it happened':
    '`updated_at` is the publisher’s: a client that continues from the greatest one skips all before it',
  'a dead letter that was retried': 'it was applied long after it was published',
};

export function describeReport(
  report: Api.FollowerReport,
  lastChange: (name: string) => Adversity | undefined,
): string {
  const { missing, stale, notDeleted, records, changes } = report;
  const wrong = [...missing, ...stale, ...notDeleted];
  const causes = Map.groupBy(wrong, ({ name }) => lastChange(name));
  return [
    `The copy is wrong after ${changes} changes: of ${records} records ${missing.length} are missing and ${stale.length} stale, ` +
      `and ${notDeleted.length} deleted ones are still there.`,
    ...section('missing', missing),
    ...section('stale', stale),
    ...section('not deleted', notDeleted),
    'The last change of each of these was:',
    ...[...causes]
      .toSorted(([, a], [, b]) => b.length - a.length)
      .map(([about, { length }]) => {
        const why = about === undefined ? undefined : EXPLANATIONS[about];
        return `  ${length} × ${about ?? 'unknown'}${why === undefined ? '' : ` (${why})`}`;
      }),
    'A client that follows /api/changes and continues from the stored `next` has all of them: docs/guides/following-changes.md.',
  ].join('\n');
}

function section(title: string, records: readonly Api.WrongRecord[]): string[] {
  if (records.length === 0) return [];
  const named = records.slice(0, MAX_NAMED).map(({ name, differences = [] }) => {
    const what = differences.slice(0, MAX_DIFFERENCES).join(', ');
    return `    ${name}${what === '' ? '' : `: ${what}`}`;
  });
  const more = records.length > MAX_NAMED ? [`    and ${records.length - MAX_NAMED} more`] : [];
  return [`  ${title}:`, ...named, ...more];
}
