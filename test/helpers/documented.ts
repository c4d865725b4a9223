/**
 * Compares answers with the OpenAPI document, which is made from the same declarations as the
 * routes. An undescribed answer is a mistake of the service or of the document.
 */
import assert from 'node:assert/strict';
import Schema from 'typebox/schema';
import { openApiDocument } from '#query/openapi/document.ts';
import { declaredRoutes } from '#query/declared-routes.ts';

type JsonSchema = Record<string, unknown>;

interface Header {
  required: boolean;
  schema: JsonSchema & { type: string };
}

interface Response {
  headers: Record<string, Header>;
  content?: Record<string, { schema: JsonSchema }>;
}

interface Operation {
  operationId: string;
  responses: Record<string, Response>;
}

export interface DocumentObject {
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, unknown>>;
}

export const openApi = JSON.parse(
  JSON.stringify(openApiDocument(await declaredRoutes())),
) as DocumentObject;

export interface ReceivedAnswer {
  method: string;
  /** Includes the query. */
  target: string;
  status: number;
  header: (name: string) => string | null;
  body: string;
}

/** Refusals before a request reaches an operation. */
const OUTSIDE: Record<number, string> = {
  400: 'InvalidRequest',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  408: 'InvalidRequest',
  413: 'InvalidRequest',
  431: 'InvalidRequest',
};
/** Quota headers, which unknown paths and methods never have. */
const OF_OPERATIONS = new Set(['RateLimit', 'RateLimit-Policy', 'Cache-Control']);

/** Asserts that the document describes the status, headers, content type and body of the answer. */
export function checkDocumented(answer: ReceivedAnswer): void {
  const { method, target, status, header, body } = answer;
  const about = `${method} ${target} answered ${status} ${body.slice(0, 300)}`;
  const path = openApi.paths[pathOf(target)] ?? {};
  const operation = path[method === 'HEAD' ? 'get' : method.toLowerCase()];
  const documented = operation?.responses[status];
  const response = resolve<Response>(documented ?? outside(path, operation, status, about));
  for (const [name, reference] of Object.entries(response.headers)) {
    const { required, schema } = resolve<Header>(reference);
    const value = header(name);
    if (value === null) {
      const needed = required && (documented !== undefined || !OF_OPERATIONS.has(name));
      assert.ok(!needed, `no ${name}: ${about}`);
    } else {
      const typed = schema.type === 'integer' ? Number(value) : value;
      assert.ok(validatorOf(schema).Check(typed), `${name}: ${value}: ${about}`);
    }
  }
  if (method !== 'HEAD') checkBody(response, header('content-type'), body, about);
}

function pathOf(target: string): string {
  const path = target.replace(/^https?:\/\/[^/]*/, '').split('?', 1)[0] ?? '';
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

/** Asserts the answer to a request that is not in the document, or is malformed. */
function outside(
  path: Record<string, Operation>,
  operation: Operation | undefined,
  status: number,
  about: string,
): Response | { $ref: string } {
  const [other] = Object.values(path);
  const ofPath = other?.responses[status];
  if (operation === undefined && ofPath !== undefined && status !== 200) return ofPath;
  const name = OUTSIDE[status];
  const isKnown =
    name !== undefined && (operation === undefined || [408, 413, 431].includes(status));
  assert.ok(isKnown, `the document has no such answer: ${about}`);
  return { $ref: `#/components/responses/${name}` };
}

function checkBody(
  response: Response,
  contentType: string | null,
  body: string,
  about: string,
): void {
  if (response.content === undefined) {
    assert.equal(body, '', about);
    return;
  }
  const mediaType = contentType?.split(';', 1)[0] ?? '';
  const media = response.content[mediaType];
  assert.ok(media, `${mediaType} is not documented: ${about}`);
  const validator = validatorOf(media.schema);
  const value: unknown = JSON.parse(body);
  if (!validator.Check(value)) {
    assert.fail(`${JSON.stringify(validator.Errors(value)[1].slice(0, 5))}: ${about}`);
  }
}

function resolve<T>(object: T | { $ref: string }): T {
  if (typeof object !== 'object' || object === null || !('$ref' in object)) return object;
  const [, , kind = '', name = ''] = object.$ref.split('/');
  return openApi.components[kind]?.[name] as T;
}

/**
 * The document allows fields of later releases; of this release no answer may have one that it does
 * not know.
 */
const closed = JSON.parse(
  JSON.stringify(openApi.components, (name, value: unknown) =>
    name === 'OpenApiDocument' ? { type: 'object' } : value,
  ).replaceAll('"additionalProperties":true', '"additionalProperties":false'),
) as DocumentObject['components'];

const validators = new Map<unknown, ReturnType<typeof Schema.Compile>>();

/** The validator of a schema, which may refer to components. */
export function validatorOf(schema: JsonSchema): ReturnType<typeof Schema.Compile> {
  const known = validators.get(schema);
  if (known !== undefined) return known;
  const validator = Schema.Compile({ ...schema, components: closed });
  validators.set(schema, validator);
  return validator;
}
