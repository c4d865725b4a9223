/**
 * Breaking changes between two OpenAPI documents. Existing tools do not support the schemas of
 * OpenAPI 3.1 (`anyOf` with `null`, lists of types), and report too few or too many changes.
 */
type Json = null | boolean | number | string | readonly Json[] | JsonObject;
type JsonObject = { readonly [name: string]: Json | undefined };

interface Side {
  document: JsonObject;
  value: Json | undefined;
}

/** @returns a line for each change that breaks a client of `released`. */
export function breakingChanges(released: object, present: object): string[] {
  const before = sideOf(released as JsonObject);
  const after = sideOf(present as JsonObject);
  return Object.entries(objectOf(at(before, 'paths'))).flatMap(([path, item]) =>
    Object.keys(item as JsonObject).flatMap((method) => {
      const name = `${method.toUpperCase()} ${path}`;
      const now = at(after, 'paths', path, method);
      if (now.value === undefined) return [`${name}: is gone`];
      return changesOf(at(before, 'paths', path, method), now).map(
        (change) => `${name}: ${change}`,
      );
    }),
  );
}

function changesOf(before: Side, after: Side): string[] {
  return [
    ...changedSecurity(before, after),
    ...changedParameters(parametersOf(before), parametersOf(after)),
    ...changedContent(
      'the body',
      at(before, 'requestBody', 'content'),
      at(after, 'requestBody', 'content'),
      isRequest,
    ),
    ...members(at(before, 'responses')).flatMap(([status, answer]) => {
      const now = at(after, 'responses', status);
      if (now.value === undefined) return [`${status} is no longer documented`];
      return [
        ...members(at(answer, 'headers')).flatMap(([header, about]) => {
          const headerNow = at(now, 'headers', header);
          if (at(about, 'required').value !== true) return [];
          if (at(headerNow, 'required').value !== true)
            return [`${status} may lack the header ${header}`];
          return isAnswer(
            at(about, 'schema'),
            at(headerNow, 'schema'),
            `${status}, header ${header}`,
          );
        }),
        ...changedContent(status, at(answer, 'content'), at(now, 'content'), isAnswer),
      ];
    }),
  ];
}

function changedSecurity(before: Side, after: Side): string[] {
  const scopesOf = (side: Side) => JSON.stringify(at(side, 'security').value);
  const needed = (side: Side) =>
    listOf(at(side, 'security')).flatMap((one) =>
      members(one).flatMap(([, scopes]) => listOf(scopes).map(({ value }) => value)),
    );
  const isLess =
    needed(after).every((scope) => needed(before).includes(scope)) && needed(after).length > 0;
  return scopesOf(before) === scopesOf(after) || isLess ? [] : [`requires ${scopesOf(after)}`];
}

function changedParameters(before: Map<string, Side>, after: Map<string, Side>): string[] {
  const gone = [...before].flatMap(([name, parameter]) => {
    const now = after.get(name);
    if (now === undefined) return [`the parameter ${name} is gone`];
    const isNeeded = at(now, 'required').value === true && at(parameter, 'required').value !== true;
    return [
      ...(isNeeded ? [`the parameter ${name} is required`] : []),
      ...isRequest(at(parameter, 'schema'), at(now, 'schema'), `parameter ${name}`),
    ];
  });
  const added = [...after].filter(
    ([name, parameter]) => !before.has(name) && at(parameter, 'required').value === true,
  );
  return [...gone, ...added.map(([name]) => `the parameter ${name} is required`)];
}

function parametersOf(operation: Side): Map<string, Side> {
  return new Map(
    listOf(at(operation, 'parameters')).map((one) => [word(at(one, 'name').value), one]),
  );
}

function changedContent(
  where: string,
  before: Side,
  after: Side,
  compare: typeof isAnswer,
): string[] {
  return members(before).flatMap(([type, media]) => {
    const now = at(after, type);
    return now.value === undefined
      ? [`${where} is no ${type}`]
      : compare(at(media, 'schema'), at(now, 'schema'), where);
  });
}

/** The old response schema must allow every new response. */
function isAnswer(before: Side, after: Side, where: string): string[] {
  return beyond(after, before, where, 'may now be');
}

/** The new request schema must allow every old request. */
function isRequest(before: Side, after: Side, where: string): string[] {
  return beyond(before, after, where, 'can no longer be');
}

/**
 * The values that the inner schema allows and the outer one forbids. Additional fields of the inner
 * one are fine.
 */
function beyond(inner: Side, outer: Side, where: string, words: string): string[] {
  const alternatives = listOf(at(inner, 'anyOf'));
  if (alternatives.length > 0)
    return alternatives.flatMap((one) => beyond(one, outer, where, words));
  const choices = listOf(at(outer, 'anyOf'));
  if (choices.length > 0) {
    const found = choices.map((choice) => beyond(inner, choice, where, words));
    return found.toSorted((a, b) => a.length - b.length)[0] ?? [];
  }
  const types = listOf(at(inner, 'type')).map(({ value }) => value);
  if (types.length > 1) {
    return types.flatMap((type) =>
      beyond({ ...inner, value: { ...objectOf(inner), type: type ?? null } }, outer, where, words),
    );
  }
  const [type] = types;
  const allowed = listOf(at(outer, 'type')).map(({ value }) => value);
  if (
    allowed.length > 0 &&
    !allowed.includes(type) &&
    !(type === 'integer' && allowed.includes('number'))
  ) {
    return [`${where} ${words} ${word(type)}`];
  }
  if (type === 'null') return [];
  const values = valuesOf(inner);
  const known = valuesOf(outer);
  const others = values?.filter((value) => known?.includes(value) !== true) ?? [];
  if (known !== null && (values === null || others.length > 0))
    return [`${where} ${words} ${others.map(word).join(', ') || 'any value'}`];
  const changed = (keyword: string) => `${where} ${words} of another ${keyword}`;
  return [
    // The format of a number says how many bits it needs, and forbids none.
    ...['pattern', ...(type === 'string' ? ['format'] : [])]
      .filter(
        (keyword) =>
          values === null &&
          ![undefined, at(inner, keyword).value].includes(at(outer, keyword).value),
      )
      .map(changed),
    ...MIN_KEYWORDS.filter(
      (keyword) => numberOf(inner, keyword, -Infinity) < numberOf(outer, keyword, -Infinity),
    ).map(changed),
    ...MAX_KEYWORDS.filter(
      (keyword) => numberOf(inner, keyword, Infinity) > numberOf(outer, keyword, Infinity),
    ).map(changed),
    ...listOf(at(outer, 'required')).flatMap(({ value }) =>
      listOf(at(inner, 'required')).some((one) => one.value === value)
        ? []
        : [`${where}.${word(value)} ${words} absent`],
    ),
    ...members(at(outer, 'properties')).flatMap(([name, property]) => {
      const now = at(inner, 'properties', name);
      return now.value === undefined ? [] : beyond(now, property, `${where}.${name}`, words);
    }),
    ...(at(outer, 'items').value === undefined
      ? []
      : beyond(at(inner, 'items'), at(outer, 'items'), `${where}[]`, words)),
  ];
}

function word(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const MIN_KEYWORDS = ['minimum', 'minLength', 'minItems'];
const MAX_KEYWORDS = ['maximum', 'maxLength', 'maxItems'];

function numberOf(schema: Side, keyword: string, absent: number): number {
  const { value } = at(schema, keyword);
  return typeof value === 'number' ? value : absent;
}

function valuesOf(schema: Side): Json[] | null {
  const constant = at(schema, 'const').value;
  if (constant !== undefined) return [constant];
  const values = listOf(at(schema, 'enum')).map(({ value }) => value ?? null);
  return values.length === 0 ? null : values;
}

function sideOf(document: JsonObject): Side {
  return { document, value: document };
}

/** The value at a path, with references resolved. */
function at({ document, value }: Side, ...names: string[]): Side {
  let found: Json | undefined = value;
  for (const name of names) found = resolved(document, isObject(found) ? found[name] : undefined);
  return { document, value: found };
}

function resolved(document: JsonObject, value: Json | undefined): Json | undefined {
  if (!isObject(value) || typeof value['$ref'] !== 'string') return value;
  const { $ref, ...rest } = value;
  const target = at(sideOf(document), ...$ref.split('/').slice(1)).value;
  return { ...(target as JsonObject), ...rest };
}

function members(side: Side): [string, Side][] {
  return Object.keys(objectOf(side)).map((name) => [name, at(side, name)]);
}

function objectOf({ value }: Side): JsonObject {
  return isObject(value) ? value : {};
}

/** A list unchanged, or a single value as a list. */
function listOf({ document, value }: Side): Side[] {
  if (value === undefined) return [];
  const list = Array.isArray(value) ? (value as readonly Json[]) : [value];
  return list.map((one) => ({ document, value: resolved(document, one) }));
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
