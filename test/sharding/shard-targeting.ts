/**
 * Judges a MongoDB command like the router of a sharded cluster, by the command alone: whether each
 * part names the shard key of its collection, and whether it is forbidden there.
 *
 * The rules are the stricter ones of MongoDB 6.0 to 8.0: `findAndModify` needs the whole key
 * (before 7.0), no `distinct` in a transaction or snapshot, no `$unionWith` of a sharded collection
 * inside a `$lookup`. What no service sends is not judged: counts without a pipeline, pipelines in
 * a transaction, unique indexes.
 */
import type { Document } from 'mongodb';
import { CONTROL_SHARDING, SHARDING, type ShardKey } from '#shared/read-models/sharding.ts';
import { words } from '#test/words.ts';

export interface Sent {
  /** The `appName` of the sender. */
  app: string;
  database: string;
  command: Document;
  /** The id of its transaction; `null` for none. */
  transaction: string | null;
}

export interface Problem {
  /** `<app> <command> <collection> by <fields of the filter>` */
  where: string;
  what: string;
}

/** Commands without documents, or that continue another command. */
const WITHOUT_DOCUMENTS = new Set(
  words(
    'hello ping getMore killCursors endSessions killSessions commitTransaction abortTransaction',
    'listCollections listDatabases listIndexes create dropDatabase',
  ),
);

/** Placeholder for a value that the shard takes from each joined document. */
const OF_EACH_DOCUMENT = Symbol('a value of each document');

/** A collection that a pipeline reads, with its filter. */
interface Part {
  collection: string;
  filter: Document;
}

export function judge({ app, database, command, transaction }: Sent): Problem[] {
  const [name = ''] = Object.keys(command);
  const problems: Problem[] = [];
  if (WITHOUT_DOCUMENTS.has(name) || database === 'admin') return problems;
  const tables = database.endsWith('_control') ? CONTROL_SHARDING : SHARDING;
  const keyOf = (of: string) => (tables as Record<string, ShardKey | undefined>)[of];
  const collection = String(command[name]);
  const report = (what: string, filter: Document = {}, of = collection): void => {
    problems.push({ where: `${app} ${name} ${of} by ${fieldsOf(filter)}`, what });
  };
  const check = (filter: Document, whole = false, of = collection) => {
    const key = keyOf(of);
    if (key === undefined) report('has no shard key', filter, of);
    else if (!isTargeted(filter, key)) report('is sent to every shard', filter, of);
    else if (whole && !namesWholeKey(filter, key)) report('does not name the whole key', filter);
  };
  if (name === 'insert') {
    for (const document of command['documents'] as Document[]) check(document, true);
  } else if (name === 'update') {
    for (const { q, u, multi = false, upsert = false } of command['updates'] as Document[]) {
      // Writes to one document by `_id` are allowed, but go to every shard.
      check(q, !multi || upsert);
      if (isReplacement(u) && changesKey(q, u, keyOf(collection))) report('replaces the key', q);
    }
  } else if (name === 'delete') {
    for (const { q, limit } of command['deletes'] as Document[]) check(q, limit === 1);
  } else if (name === 'findAndModify') {
    check(command['query'], true);
  } else if (name === 'find') {
    check(command['filter'] ?? {});
  } else if (name === 'distinct') {
    check(command['query']);
    const isSnapshot = command['readConcern']?.level === 'snapshot';
    if (transaction !== null || isSnapshot) report('is forbidden in a snapshot', command['query']);
  } else if (name === 'aggregate' && transaction === null) {
    for (const { collection: of, filter } of partsOf(collection, command['pipeline'], report))
      check(filter, false, of);
  } else if (name === 'createIndexes') {
    for (const { key, unique } of command['indexes'] as Document[])
      if (unique === true) report('is unique', key);
  } else {
    report('is a command that is not judged');
  }
  return problems;
}

/**
 * The collections that a pipeline reads; its leading `$match` stages are the filter.
 * @param forbid called for each stage that is not allowed.
 * @param joined the filter of the `$lookup` that the pipeline is in.
 */
function partsOf(
  collection: string,
  pipeline: Document[],
  forbid: (what: string) => void,
  joined?: Document,
): Part[] {
  const other = pipeline.findIndex((stage) => !('$match' in stage));
  const leading = pipeline
    .slice(0, other === -1 ? pipeline.length : other)
    .map(({ $match }) => $match);
  const parts: Part[] = [{ collection, filter: { $and: [joined ?? {}, ...leading] } }];
  for (const stage of pipeline) {
    const { $unionWith: union, $lookup: lookup } = stage;
    for (const name of ['$out', '$merge', '$graphLookup'])
      if (name in stage) forbid(`${name} is not known to be allowed`);
    if (union !== undefined) {
      if (joined !== undefined) forbid('$unionWith is forbidden inside $lookup');
      parts.push(...partsOf(union.coll, union.pipeline, forbid, joined && {}));
    }
    if (lookup !== undefined) {
      const { from, foreignField, pipeline: inner = [] } = lookup;
      parts.push(
        ...partsOf(
          from,
          inner,
          forbid,
          foreignField === undefined ? {} : { [foreignField]: OF_EACH_DOCUMENT },
        ),
      );
    }
  }
  return parts;
}

/** The values that a filter allows for a field; `null` if a router cannot tell. */
function valuesOf(filter: Document, field: string): unknown[] | null {
  for (const [name, condition] of Object.entries(filter)) {
    if (name === '$and') {
      for (const part of condition as Document[]) {
        const values = valuesOf(part, field);
        if (values !== null) return values;
      }
    } else if (name === field) {
      if (!isOperators(condition)) return [condition];
      if ('$in' in condition) return condition['$in'] as unknown[];
    }
  }
  return null;
}

/** Whether a filter has both bounds of `_id`. */
function hasRange(filter: Document): boolean {
  const { _id: range, $and: parts = [] } = filter;
  const isRange =
    isOperators(range) &&
    ['$gte', '$gt'].some((name) => name in range) &&
    ['$lt', '$lte'].some((name) => name in range);
  return isRange || (parts as Document[]).some(hasRange);
}

function isTargeted(filter: Document, key: ShardKey): boolean {
  const [first = ''] = Object.keys(key);
  if (valuesOf(filter, first) !== null) return true;
  if (first === '_id' && key._id !== 'hashed' && hasRange(filter)) return true;
  const branches = (filter['$or'] ?? []) as Document[];
  return branches.length > 0 && branches.every((branch) => isTargeted(branch, key));
}

function namesWholeKey(filter: Document, key: ShardKey): boolean {
  return Object.keys(key).every((field) => valuesOf(filter, field)?.length === 1);
}

function isOperators(condition: unknown): condition is Document {
  return (
    typeof condition === 'object' &&
    condition !== null &&
    Object.keys(condition).length > 0 &&
    Object.keys(condition).every((name) => name.startsWith('$'))
  );
}

function isReplacement(update: Document): boolean {
  return !Array.isArray(update) && !Object.keys(update).some((name) => name.startsWith('$'));
}

/** A replacement without a key field would set it to `null`; `_id` stays. */
function changesKey(filter: Document, replacement: Document, key: ShardKey | undefined): boolean {
  return Object.keys(key ?? {}).some(
    (field) => field !== '_id' && replacement[field] !== valuesOf(filter, field)?.[0],
  );
}

function fieldsOf(filter: Document): string {
  const names = Object.entries(filter).flatMap(([name, condition]) =>
    name === '$and' || name === '$or'
      ? (condition as Document[]).flatMap((part) => Object.keys(part))
      : [name],
  );
  // Names of nested fields are store ids.
  const outermost = new Set(names.map((name) => name.split('.', 1)[0] ?? name));
  return names.length === 0 ? 'nothing' : [...outermost].toSorted().join(', ');
}
