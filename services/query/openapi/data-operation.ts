/** What a data endpoint's declaration comes to in the OpenAPI document. */
import type { TSchema } from 'typebox';
import type { Scope } from '#shared/events/access-event.ts';
import type { Parameter, Parameters } from '../parameters/parameter.ts';
import { listOf } from '../records/envelopes.ts';
import {
  COUNTED,
  headers,
  QUOTA,
  REQUEST_HEADERS,
  type MediaType,
  type OperationObject,
  optionalExample,
  type ParameterObject,
  reference,
  type Reference,
  type ResponseObject,
  type Tag,
} from './objects.ts';
import type { REFUSALS } from './errors.ts';

/** What a data endpoint says of itself to those who call it. */
export interface Documentation {
  operationId: string;
  tag: Tag;
  summary: string;
  description: string;
  answer: Answer;
  /** Which scopes it requires, where that is not all of them. */
  requires?: string;
  /** Other operations that take an id out of the answer. */
  links?: readonly Link[];
}

/** What a 200 holds. */
export interface Answer {
  schema: TSchema;
  example: unknown;
  /** Whether the record may be missing: 404 then. */
  mayBeMissing: boolean;
  /** Whether it has an entity tag, by which a client may ask whether anything changed. */
  isTagged: boolean;
}

export interface Link {
  operationId: string;
  parameter: string;
  /** Where the id lies in the answer, as a JSON pointer. */
  from: string;
}

function answerOf(schema: TSchema, mayBeMissing = false, isTagged = true): Answer {
  if (!('examples' in schema) || !Array.isArray(schema.examples))
    throw new TypeError('a record has an example');
  return { schema, example: schema.examples[0] as unknown, mayBeMissing, isTagged };
}

/** A page of records. */
export const page = (type: TSchema) => answerOf(listOf(type));
/** One record, which the store may not have. */
export const one = (type: TSchema) => answerOf(type, true);
/** What every store has, be it empty. */
export const always = (type: TSchema) => answerOf(type);
/** Changes of records, which have no entity tag. */
export const changes = (type: TSchema) => answerOf(type, false, false);

/** Name of the security scheme of bearer tokens. */
export const TOKEN_SCHEME = 'accessToken';

/** The operation of a data endpoint. */
export function dataOperation(
  { operationId, tag, summary, description, answer, requires, links = [] }: Documentation,
  scopes: readonly Scope[],
  parameters: Parameters,
): OperationObject {
  return {
    operationId,
    tags: [tag] satisfies [Tag],
    summary,
    description: `${description}\n\n${requires ?? scopeSentence(scopes)}`,
    security: [{ [TOKEN_SCHEME]: scopes }],
    parameters: [
      ...Object.entries(parameters).map(([name, parameter]) => queryParameter(name, parameter)),
      ...(answer.isTagged ? [reference('parameters', REQUEST_HEADERS['If-None-Match'].name)] : []),
      reference('parameters', REQUEST_HEADERS['X-Request-Id'].name),
    ],
    responses: {
      200: found(answer, links),
      ...(answer.isTagged ? { 304: reference('responses', 'NotModified') } : {}),
      ...refusals({
        400: 'InvalidRequest',
        401: 'InvalidToken',
        403: 'InsufficientScope',
        ...(answer.mayBeMissing ? { 404: 'NotFound' } : {}),
        405: 'MethodNotAllowed',
        422: 'InvalidParameters',
        429: 'RateLimitExceeded',
        500: 'InternalError',
        503: 'EnvironmentUnavailable',
      }),
    },
  };
}

/** References to answers that refuse. */
export function refusals(names: Record<number, keyof typeof REFUSALS>): Record<string, Reference> {
  return Object.fromEntries(
    Object.entries(names).map(([status, name]) => [status, reference('responses', name)]),
  );
}

/** The answer to a condition that holds. */
export const NOT_MODIFIED: ResponseObject = {
  description: 'Nothing changed since the answer that `If-None-Match` names. There is no body.',
  headers: headers('ETag', 'Vary', ...COUNTED),
};

function scopeSentence(scopes: readonly Scope[]): string {
  const named = scopes.map((scope) => `\`${scope}\``).join(' and ');
  return scopes.length === 1 ? `Requires the scope ${named}.` : `Requires the scopes ${named}, all of them.`;
}

function queryParameter(name: string, parameter: Parameter<unknown>): ParameterObject {
  const { description, schema, required, repeatable } = parameter;
  return {
    name,
    in: 'query',
    description,
    ...(required ? { required: true } : {}),
    ...(repeatable ? { explode: true } : {}),
    schema,
    ...exampleObject(parameter),
  };
}

function exampleObject({
  required,
  example,
}: Parameter<unknown>): Pick<ParameterObject, 'example' | 'examples'> {
  if (example === undefined) return {};
  return required ? { example } : optionalExample(example);
}

function found({ schema, example, isTagged }: Answer, links: readonly Link[]): ResponseObject {
  const media: MediaType = { schema, example };
  return {
    description: descriptionOf(schema),
    headers: isTagged ? headers('ETag', 'Vary', ...COUNTED) : headers('Vary', ...QUOTA, 'Private-No-Store'),
    content: { 'application/json': media },
    ...(links.length === 0 ? {} : { links: Object.fromEntries(links.map(linkObject)) }),
  };
}

function descriptionOf(schema: TSchema): string {
  if (!('description' in schema) || typeof schema.description !== 'string') {
    throw new TypeError('a record has a description');
  }
  return schema.description;
}

function linkObject({ operationId, parameter, from }: Link) {
  return [
    operationId,
    {
      description: `The first record’s \`id\` is the \`${parameter}\` of this operation.`,
      operationId,
      parameters: { [parameter]: `$response.body#${from}` },
    },
  ] as const;
}
