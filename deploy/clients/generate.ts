/**
 * Writes the types of the clients from the OpenAPI document: records, filters, kinds of changes.
 * `npm run clients`
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: string[];
  const?: string;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  description?: string;
}

interface Parameter {
  name: string;
  schema: Schema;
  description?: string;
}

interface Operation {
  operationId: string;
  parameters: (Parameter | { $ref: string })[];
  responses: Record<string, { content?: object }>;
}

interface Document {
  paths: Record<string, { get?: Operation }>;
  components: { schemas: Record<string, Schema> };
}

/** What a language writes for each part of a schema. */
interface Language {
  words: Record<string, string>;
  literal: (values: string[]) => string;
  list: (item: string) => string;
  comment: (sentence: string) => string;
  field: (name: string, type: string) => string;
}

const TYPESCRIPT: Language = {
  words: {
    string: 'string',
    integer: 'number',
    number: 'number',
    boolean: 'boolean',
    null: 'null',
  },
  literal: (values) => values.map((value) => `'${value}'`).join(' | '),
  list: (item) => (item.includes(' ') ? `(${item})[]` : `${item}[]`),
  comment: (sentence) => `  /** ${sentence} */\n`,
  field: (name, type) => `  ${name}: ${type};\n`,
};
const PYTHON: Language = {
  words: { string: 'str', integer: 'int', number: 'float', boolean: 'bool', null: 'None' },
  literal: (values) => `Literal[${values.map((value) => `"${value}"`).join(', ')}]`,
  list: (item) => `List[${item}]`,
  comment: (sentence) => `    # ${sentence}\n`,
  field: (name, type) => `    ${name}: ${type}\n`,
};

const firstSentence = (text: string) => text.split(/(?<=\.)\s/)[0] ?? text;
const capitalize = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
const classOf = (kind: string) => kind.split('-').map(capitalize).join('');

function typeOf(schema: Schema, language: Language): string {
  if (schema.$ref !== undefined) return schema.$ref.replace('#/components/schemas/', '');
  if (schema.anyOf !== undefined)
    return schema.anyOf.map((part) => typeOf(part, language)).join(' | ');
  if (schema.enum !== undefined) return language.literal(schema.enum);
  if (schema.const !== undefined) return language.literal([schema.const]);
  const types = [schema.type ?? []].flat();
  const parts = types.map((type) =>
    type === 'array' ? language.list(typeOf(schema.items ?? {}, language)) : language.words[type],
  );
  if (parts.length === 0 || parts.includes(undefined))
    throw new Error(`unknown schema ${JSON.stringify(schema)}`);
  return parts.join(' | ');
}

function commentOf({ description }: Pick<Schema, 'description'>, { comment }: Language): string {
  return description === undefined ? '' : comment(firstSentence(description));
}

function fieldsOf(properties: Record<string, Schema>, language: Language): string {
  return Object.entries(properties)
    .map(([name, schema]) => {
      const field = language.field(name, typeOf(schema, language));
      return `${commentOf(schema, language)}${field}`;
    })
    .join('');
}

/** A list endpoint, and the details endpoint beside it. */
interface Resource {
  /** Such as `CustomerOrders`. */
  name: string;
  filters: Parameter[];
  summary: string;
  details: string | null;
}

/** A kind of the change feed, and its records. */
interface Kind {
  kind: string;
  whole: string;
  summary: string;
}

function read(document: Document) {
  const { schemas } = document.components;
  const schema = (name: string): Schema => {
    const found = schemas[name];
    if (found === undefined) throw new Error(`the document has no schema ${name}`);
    return found;
  };
  const references = (value: unknown): string[] =>
    [...JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(
      ([, name = '']) => name,
    );
  const answerOf = (path: string) =>
    references(document.paths[path]?.get?.responses['200']?.content)[0] ?? '';

  const resources = Object.entries(document.paths).flatMap(([path, { get }]): Resource[] => {
    const name = /^list(\w+)$/.exec(get?.operationId ?? '')?.[1];
    if (get === undefined || name === undefined) return [];
    const parameters = get.parameters.filter(
      (parameter): parameter is Parameter => 'name' in parameter,
    );
    const filters = parameters.filter(({ name }) => name !== 'page' && name !== 'page_size');
    const summary = references(schema(answerOf(path)).properties?.['results'])[0] ?? '';
    const details = path.replace(/\/list$/, '/details/');
    const hasDetails = details !== path && details in document.paths;
    return [{ name, filters, summary, details: hasDetails ? answerOf(details) : null }];
  });

  const kinds = references(schema('Changes').properties?.['results']).map((change): Kind => {
    const { kind, record } = schema(change).properties ?? {};
    const [whole = '', summary = whole] = references(record);
    return { kind: kind?.const ?? '', whole, summary };
  });

  const used = new Set([
    'StoreInfo',
    'Menu',
    'LocalDateTime',
    'TimezoneOffset',
    ...resources.flatMap(({ summary, details, filters }) => [
      summary,
      details ?? summary,
      ...references(filters),
    ]),
    ...kinds.flatMap(({ whole, summary }) => [whole, summary]),
  ]);
  // A set that grows meanwhile shows what is added.
  for (const name of used) for (const other of references(schema(name))) used.add(other);
  return {
    resources,
    kinds,
    schemas: [...used].toSorted().map((name) => ({ name, ...schema(name) })),
  };
}

type Model = ReturnType<typeof read>;
const HEADER = 'Written from docs/openapi.json by `npm run clients`.';

function typescriptOf({ resources, kinds, schemas }: Model): string {
  const records = schemas.map(({ name, ...schema }) => {
    const about = commentOf(schema, TYPESCRIPT).trimStart();
    if (schema.properties === undefined)
      return `${about}export type ${name} = ${typeOf(schema, TYPESCRIPT)};\n`;
    return `${about}export interface ${name} {\n${fieldsOf(schema.properties, TYPESCRIPT)}}\n`;
  });
  const filtered = resources.filter(({ filters }) => filters.length > 0);
  const filters = filtered.map(({ name, filters }) => {
    const fields = filters.map((filter) => {
      const list = filter.schema.type === 'array' ? 'readonly ' : '';
      const type = `${list}${typeOf(filter.schema, TYPESCRIPT)} | undefined`;
      return `${commentOf(filter, TYPESCRIPT)}${TYPESCRIPT.field(`${filter.name}?`, type)}`;
    });
    return `export interface ${name}Filters {\n${fields.join('')}}\n`;
  });
  const fields = kinds.map(
    ({ kind, whole, summary }) =>
      `  ${kind.includes('-') ? `'${kind}'` : kind}: { whole: ${whole}; summary: ${summary} };\n`,
  );
  const changes = `/** The records of each kind, as \`records\` of the change feed asks for them. */
export interface KindRecords {\n${fields.join('')}}
export type Kind = keyof KindRecords;
export type Detail = 'whole' | 'summary';

/** A record as it is now, or its deletion. */
export type Change<K extends Kind = Kind, D extends Detail = 'whole'> = {
  [P in K]:
    | { kind: P; id: Id; deleted: false; record: KindRecords[P][D] }
    | { kind: P; id: Id; deleted: true; record: null };
}[K];

/** Changes, oldest first. Store \`next\` together with what you make of them. */
export interface Batch<K extends Kind = Kind, D extends Detail = 'whole'> {
  results: Change<K, D>[];
  timezone_offset: TimezoneOffset;
  next: string;
  more: boolean;
}

export interface ChangesParameters<K extends Kind = Kind, D extends Detail = 'whole'> {
  /** All kinds unless given. */
  kinds?: readonly K[] | undefined;
  /** \`whole\` unless given. */
  records?: D | undefined;
  /** A stored \`next\`, or \`now\`; from the beginning unless given. */
  after?: string | null | undefined;
  /** 1,000 unless given. */
  page_size?: number | undefined;
  /** How many seconds a request is held while nothing changes: 30 unless given. */
  wait?: number | undefined;
}

export interface Page<T> {
  /** How many records match, on all pages. */
  count: number;
  page: number;
  page_size: number;
  results: T[];
}
`;
  return [`// ${HEADER}\n`, ...records, ...filters, changes].join('\n');
}

const PYTHON_CALLS = `class Single(Protocol[T]):
    @overload
    def __call__(self, *, if_none_match: None = None) -> T: ...
    @overload
    def __call__(self, *, if_none_match: str) -> Conditional[T]: ...


class Changes(Protocol):
    """Follows changes without end, and repeats without limit unless \`retries\` is given. It asks for the next batch when the loop
    body is done with this one: a \`next\` that was stored there misses nothing."""

    @overload
    def __call__(
        self, *, kinds: Sequence[Kind] | None = None, records: Literal["whole"] = "whole", after: str | None = None,
        page_size: int = 1_000, wait: int = 30, retries: float = math.inf
    ) -> Iterator[Batch]: ...
    @overload
    def __call__(
        self, *, kinds: Sequence[Kind] | None = None, records: Literal["summary"], after: str | None = None,
        page_size: int = 1_000, wait: int = 30, retries: float = math.inf
    ) -> Iterator[SummaryBatch]: ...
`;

/**
 * Records as dictionaries with types, and the methods of each resource, which the client implements
 * once for all.
 */
function pythonOf({ resources, kinds, schemas }: Model): string {
  const records = schemas.map(({ name, ...schema }) => {
    if (schema.properties === undefined) return `${name} = ${typeOf(schema, PYTHON)}\n`;
    return `class ${name}(TypedDict):\n    """${firstSentence(schema.description ?? name)}"""\n\n${fieldsOf(schema.properties, PYTHON)}`;
  });
  const changes = kinds.flatMap(({ kind, whole, summary }) =>
    [
      ['', whole],
      ['Summary', summary],
    ].map(
      ([prefix, record]) =>
        `class ${classOf(kind)}${prefix}Change(TypedDict):\n    kind: Literal["${kind}"]\n    id: str\n    deleted: bool\n    record: ${record} | None\n`,
    ),
  );
  const batches = ['', 'Summary'].map((prefix) => {
    const names = kinds.map(({ kind }) => `${classOf(kind)}${prefix}Change`);
    return `class ${prefix}Batch(TypedDict):
    """Changes, oldest first. Store \`next\` together with what you make of them."""

    results: List[${names.join(' | ')}]
    timezone_offset: TimezoneOffset
    next: str
    more: bool
`;
  });
  const pages = [...new Set(resources.map(({ summary }) => summary))].map(
    (summary) =>
      `class ${summary}Page(TypedDict):\n    count: int\n    page: int\n    page_size: int\n    results: List[${summary}]\n`,
  );
  const protocols = resources.map(({ name, filters, summary, details }) => {
    const given = filters.map(({ name, schema }) => {
      const type =
        schema.type === 'array'
          ? `Sequence[${typeOf(schema.items ?? {}, PYTHON)}]`
          : typeOf(schema, PYTHON);
      return `${name}: ${type} | None = None, `;
    });
    const pageSize = `${given.join('')}page_size: int = 100`;
    const conditional = (method: string, before: string, result: string) => `    @overload
    def ${method}(self, ${before}, if_none_match: None = None) -> ${result}: ...
    @overload
    def ${method}(self, ${before}, if_none_match: str) -> Conditional[${result}]: ...
`;
    return `class ${name}(Protocol):
    def list(self, *, ${pageSize}) -> Iterator[${summary}]: ...
    def pages(self, *, ${pageSize}) -> Iterator[${summary}Page]: ...
${conditional('page', `*, page: int = 1, ${pageSize}`, `${summary}Page`)}${details === null ? '' : conditional('get', 'id: str, *', details)}`;
  });
  return [
    `# ${HEADER}
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Iterator, List, Literal, Protocol, Sequence, TypedDict, TypeVar, overload

if TYPE_CHECKING:
    from . import Conditional

T = TypeVar("T")
`,
    `Kind = Literal[${kinds.map(({ kind }) => `"${kind}"`).join(', ')}]\n`,
    ...records,
    ...changes,
    ...batches,
    ...pages,
    ...protocols,
    PYTHON_CALLS,
  ].join('\n\n');
}

/** The files, by path. */
export function generate(document: string): Record<string, string> {
  const model = read(JSON.parse(document) as Document);
  return {
    'typescript/types.ts': typescriptOf(model),
    'python/store_data_client/types.py': pythonOf(model),
  };
}

if (import.meta.main) {
  const document = readFileSync(join(import.meta.dirname, '../../docs/openapi.json'), 'utf8');
  for (const [path, text] of Object.entries(generate(document)))
    writeFileSync(join(import.meta.dirname, path), text);
}
