/**
 * Judges a MongoDB command like the router of a sharded cluster, by the command alone: whether each
 * part names the shard key of its collection, and whether it is forbidden there.
 *
 * The rules are the stricter ones of MongoDB 6.0 to 8.0: `findAndModify` needs the whole key
 * (before 7.0), no `$lookup` from a sharded collection in a transaction (before 8.0), no `distinct`
 * in a transaction or snapshot, no `$unionWith` of a sharded collection inside a `$lookup`, no
 * collection created by a transaction on several shards, and unique indexes begin with the key.
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

/** A collection that a command reads or writes, with its filter. */
interface Part {
  collection: string;
  filter: Document;
}

export function judge({ app, database, command, transaction }: Sent): Problem[] {
  const [name = ''] = Object.keys(command);
  const problems: Problem[] = [];
  if (WITHOUT_DOCUMENTS.has(name) || database === 'admin') return problems;
  const tables = database.endsWith('_control') ? CONTROL_SHARDING : SHARDING;
  const keyOf = (collection: string) =>
    (tables as Record<string, ShardKey | undefined>)[collection];
  const report = ({ collection, filter }: Part, what: string): void => {
    problems.push({ where: `${app} ${name} ${collection} by ${fieldsOf(filter)}`, what });
  };
  const check = (part: Part, whole = false) => {
    const key = keyOf(part.collection);
    if (key === undefined) report(part, 'has no shard key');
    else if (!isTargeted(part.filter, key)) report(part, 'is sent to every shard');
    else if (whole && !namesWholeKey(part.filter, key)) report(part, 'does not name the whole key');
  };
  const collection = String(command[name]);
  if (name === 'insert') {
    for (const document of command['documents'] as Document[])
      check({ collection, filter: document }, true);
  } else if (name === 'update') {
    for (const { q, u, multi = false, upsert = false } of command['updates'] as Document[]) {
      // Writes to one document by `_id` are allowed, but go to every shard.
      check({ collection, filter: q }, !multi || upsert);
      const changed = isReplacement(u) && changesKey(q, u, keyOf(collection));
      if (changed) report({ collection, filter: q }, 'replaces the key');
    }
  } else if (name === 'delete') {
    for (const { q, limit } of command['deletes'] as Document[])
      check({ collection, filter: q }, limit === 1);
  } else if (name === 'findAndModify') {
    check({ collection, filter: command['query'] }, true);
  } else if (name === 'find') {
    check({ collection, filter: command['filter'] ?? {} });
  } else if (name === 'count') {
    check({ collection, filter: command['query'] ?? {} });
  } else if (name === 'distinct') {
    const part = { collection, filter: command['query'] ?? {} };
    check(part);
    const isSnapshot = command['readConcern']?.level === 'snapshot';
    if (transaction !== null || isSnapshot) report(part, 'is forbidden in a snapshot');
  } else if (name === 'aggregate') {
    for (const part of partsOf(collection, command['pipeline'])) check(part);
    const stages = stagesIn(command['pipeline']);
    const untried = [
      '$out',
      '$merge',
      '$graphLookup',
      ...(transaction === null ? [] : ['$unionWith']),
    ];
    for (const stage of untried) {
      if (stages.includes(stage))
        report({ collection, filter: {} }, `${stage} is not known to be allowed`);
    }
    if (transaction !== null && stages.includes('$lookup'))
      report({ collection, filter: {} }, '$lookup is forbidden in a transaction');
    if (unitesInLookup(command['pipeline']))
      report({ collection, filter: {} }, '$unionWith is forbidden inside $lookup');
  } else if (name === 'createIndexes') {
    const [first] = Object.keys(keyOf(collection) ?? {});
    for (const { key, unique = false } of command['indexes'] as Document[]) {
      if (unique && Object.keys(key)[0] !== first)
        report({ collection, filter: key }, 'is unique and not led by the key');
    }
  } else {
    report({ collection, filter: {} }, 'is a command that is not judged');
  }
  return problems;
}

/** The collections that a pipeline reads; its leading `$match` stages are the filter. */
function partsOf(collection: string, pipeline: Document[], joined: Document = {}): Part[] {
  const other = pipeline.findIndex((stage) => !('$match' in stage));
  const leading = pipeline
    .slice(0, other === -1 ? pipeline.length : other)
    .map(({ $match }) => $match);
  const filter = leading.length === 0 ? joined : { $and: [joined, ...leading] };
  const parts: Part[] = [{ collection, filter }];
  for (const { $unionWith: union, $lookup: lookup } of pipeline) {
    if (union !== undefined) parts.push(...partsOf(union.coll, union.pipeline ?? []));
    if (lookup !== undefined) {
      const { from, foreignField, pipeline: inner = [] } = lookup;
      parts.push(
        ...partsOf(
          from,
          inner,
          foreignField === undefined ? {} : { [foreignField]: OF_EACH_DOCUMENT },
        ),
      );
    }
  }
  return parts;
}

/** The names of all stages, including inner pipelines. */
function stagesIn(pipeline: Document[]): string[] {
  return pipeline.flatMap((stage) => [
    ...Object.keys(stage),
    ...Object.values(stage).flatMap((body: Document) =>
      Array.isArray(body?.['pipeline']) ? stagesIn(body['pipeline']) : [],
    ),
  ]);
}

function unitesInLookup(pipeline: Document[]): boolean {
  return pipeline.some(
    ({ $lookup: lookup, $unionWith: union }) =>
      stagesIn(lookup?.pipeline ?? []).includes('$unionWith') ||
      unitesInLookup(union?.pipeline ?? []),
  );
}

/** The values that a filter allows for a field; `null` if a router cannot tell. */
function valuesOf(filter: Document, field: string): unknown[] | null {
  for (const [name, condition] of Object.entries(filter)) {
    if (name === '$and') {
      for (const part of condition as Document[]) {
        const values = valuesOf(part, field);
        if (values !== null) return values;
      }
    } else if (name === '$or') {
      const branches = (condition as Document[]).map((part) => valuesOf(part, field));
      if (branches.every((values) => values !== null)) return branches.flat();
    } else if (name === field) {
      if (!isOperators(condition)) return [condition];
      if ('$eq' in condition) return [condition['$eq']];
      if ('$in' in condition) return condition['$in'] as unknown[];
    }
  }
  return null;
}

/** The lower bound of a field, if the filter has both bounds. */
function rangeOf(filter: Document, field: string): string | null {
  for (const [name, condition] of Object.entries(filter)) {
    if (name === '$and') {
      for (const part of condition as Document[]) {
        const begin = rangeOf(part, field);
        if (begin !== null) return begin;
      }
    } else if (name === field && isOperators(condition)) {
      const begin: unknown = condition['$gte'] ?? condition['$gt'];
      if (typeof begin === 'string' && ('$lt' in condition || '$lte' in condition)) return begin;
    }
  }
  return null;
}

function isTargeted(filter: Document, key: ShardKey): boolean {
  const [first = ''] = Object.keys(key);
  if (valuesOf(filter, first) !== null) return true;
  if (first === '_id' && key._id !== 'hashed' && rangeOf(filter, '_id') !== null) return true;
  return (
    Array.isArray(filter['$or']) &&
    filter['$or'].length > 0 &&
    (filter['$or'] as Document[]).every((branch) => isTargeted(branch, key))
  );
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
