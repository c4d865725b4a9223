/**
 * The filters, updates and expressions of MongoDB that the projection uses. Others throw, since no
 * test compares them with MongoDB.
 */

export type Value = unknown;
export type Doc = { _id: string } & Record<string, Value>;
type Fields = Record<string, Value>;

const isPlain = (value: Value): value is Fields =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** A deep copy. */
export function copy<T>(value: T): T {
  if (Array.isArray(value)) return value.map((item: unknown) => copy(item)) as T;
  if (!isPlain(value)) return value;
  const copied: Fields = {};
  for (const [name, member] of Object.entries(value))
    if (member !== undefined) copied[name] = copy(member);
  return copied as T;
}

/** The value of a field or path. */
export function valueAt(doc: Value, path: string): Value {
  let value = doc;
  for (const name of path.split('.')) {
    if (!isPlain(value)) return undefined;
    value = value[name];
  }
  return value;
}

function setAt(doc: Fields, path: string, value: Value): void {
  const names = path.split('.');
  const last = names.pop() ?? '';
  let target = doc;
  for (const name of names) {
    if (!isPlain(target[name])) target[name] = {};
    target = target[name] as Fields;
  }
  if (value === undefined) delete target[last];
  else target[last] = value;
}

/** MongoDB's order of values of one type. */
export function compare(a: Value, b: Value): number {
  if (a instanceof Date && b instanceof Date) return a.getTime() - b.getTime();
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'string' && typeof b === 'string')
    return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return JSON.stringify(a) === JSON.stringify(b) ? 0 : 1;
}

const isAbsent = (value: Value) => value === null || value === undefined;
const isSame = (a: Value, b: Value) =>
  isAbsent(a) || isAbsent(b) ? isAbsent(a) && isAbsent(b) : compare(a, b) === 0;
/** A list matches if one of its items does. */
const some = (value: Value, test: (item: Value) => boolean) =>
  Array.isArray(value) ? value.some(test) : test(value);

type Operator = (value: Value, operand: Value) => boolean;
/** @param holds of the order of a value and the bound. */
const ordered =
  (holds: (by: number) => boolean): Operator =>
  (value, bound) =>
    some(value, (item) => !isAbsent(item) && holds(compare(item, bound)));

const OPERATORS: Record<string, Operator> = {
  $in: (value, list) => some(value, (item) => (list as Value[]).some((one) => isSame(item, one))),
  $nin: (value, list) => !(list as Value[]).some((one) => isSame(value, one)),
  $gt: ordered((by) => by > 0),
  $gte: ordered((by) => by >= 0),
  $lt: ordered((by) => by < 0),
  $not: (value, operand) => !isPassing(value, operand),
};

function isPassing(value: Value, condition: Value): boolean {
  const names = isPlain(condition) ? Object.keys(condition) : [];
  if (!isPlain(condition) || !names.some((name) => name.startsWith('$')))
    return some(value, (item) => isSame(item, condition));
  return names.every((name) => {
    const operator = OPERATORS[name];
    if (operator === undefined) throw new Error(`the simulated store does not know ${name}`);
    return operator(value, condition[name]);
  });
}

/** Whether a document matches a filter. */
export function matches(doc: Doc, filter: object): boolean {
  return Object.entries(filter).every(([path, condition]) => {
    if (path === '$or') return (condition as object[]).some((one) => matches(doc, one));
    if (path.startsWith('$')) throw new Error(`the simulated store does not know ${path}`);
    return isPassing(valueAt(doc, path), condition);
  });
}

const FUNCTIONS: Record<string, (operands: Value[]) => Value> = {
  $add: (operands) => operands.reduce<number>((sum, one) => sum + Number(one), 0),
  $concat: (operands) => operands.join(''),
  $split: ([text, by]) => String(text).split(String(by)),
  $arrayElemAt: ([list, at]) => (list as Value[])[Number(at)],
};

/** An aggregation expression, used in updates of texts. */
export function evaluate(doc: Doc, expression: Value): Value {
  if (typeof expression === 'string' && expression.startsWith('$'))
    return valueAt(doc, expression.slice(1));
  if (!isPlain(expression)) return expression;
  const [[name, operand] = ['', undefined]] = Object.entries(expression);
  if (name === '$literal') return operand;
  if (name === '$replaceOne') {
    const { input, find, replacement } = operand as Fields;
    return String(evaluate(doc, input)).replace(String(evaluate(doc, find)), () =>
      String(replacement),
    );
  }
  const known = FUNCTIONS[name];
  if (known === undefined) throw new Error(`the simulated store does not know ${name}`);
  return known((operand as Value[]).map((item) => evaluate(doc, item)));
}

/** Applies an update to a document. @param isNew whether the update inserts it. */
export function updated(before: Doc, update: object, isNew: boolean): Doc {
  const doc = copy(before);
  if (Array.isArray(update)) {
    for (const { $set } of update as { $set: Fields }[]) {
      for (const [path, expression] of Object.entries($set))
        setAt(doc, path, evaluate(before, expression));
    }
    return doc;
  }
  for (const [operator, fields] of Object.entries(update) as [string, Fields][]) {
    for (const [path, value] of Object.entries(fields)) {
      if (operator === '$set' || (operator === '$setOnInsert' && isNew))
        setAt(doc, path, copy(value));
      else if (operator === '$unset') setAt(doc, path, undefined);
      else if (operator === '$inc')
        setAt(doc, path, Number(valueAt(doc, path) ?? 0) + Number(value));
      else if (operator !== '$setOnInsert')
        throw new Error(`the simulated store does not know ${operator}`);
    }
  }
  return doc;
}
