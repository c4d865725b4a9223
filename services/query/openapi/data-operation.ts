/** What a data endpoint's declaration comes to in the OpenAPI document. */
import type { Scope } from '#shared/events/access-event.ts';
import type { Parameter, Parameters } from '../parameters/parameter.ts';
import { COMPONENT, type Reference as SchemaReference } from '../records/fields.ts';
import {
  COUNTED,
  headers,
  QUOTA,
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
  /** What a 200 holds: a record, or an envelope of records. */
  answer: SchemaReference;
  /** Whether the record may be missing: 404 then. */
  mayBeMissing?: true;
  /** Whether the answer has no entity tag, by which a client may ask whether anything changed. */
  isUntagged?: true;
  /** Which scopes it requires, where that is not all of them. */
  requires?: string;
  /** Other operations that take the id of the first record of the answer, and their parameter. */
  links?: Readonly<Record<string, string>>;
}

/** Name of the security scheme of bearer tokens. */
export const TOKEN_SCHEME = 'accessToken';

/** The operation of a data endpoint. */
export function dataOperation(
  about: Documentation,
  scopes: readonly Scope[],
  parameters: Parameters,
): OperationObject {
  const { operationId, tag, summary, description, requires = scopeSentence(scopes) } = about;
  const { mayBeMissing = false, isUntagged = false } = about;
  return {
    operationId,
    tags: [tag],
    summary,
    description: `${description}\n\n${requires}`,
    security: [{ [TOKEN_SCHEME]: scopes }],
    parameters: [
      ...Object.entries(parameters).map(queryParameter),
      ...(isUntagged ? [] : [reference('parameters', 'If-None-Match')]),
      reference('parameters', 'X-Request-Id'),
    ],
    responses: {
      200: found(about),
      ...(isUntagged ? {} : { 304: reference('responses', 'NotModified') }),
      ...refusals({
        400: 'InvalidRequest',
        401: 'InvalidToken',
        403: 'InsufficientScope',
        ...(mayBeMissing ? { 404: 'NotFound' } : {}),
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

function queryParameter([name, parameter]: [string, Parameter<unknown>]): ParameterObject {
  const { description, schema, absent, repeatable = false, example } = parameter;
  const required = absent === undefined;
  return {
    name,
    in: 'query',
    description,
    ...(required ? { required: true } : {}),
    ...(repeatable ? { explode: true } : {}),
    schema,
    ...(example === undefined ? {} : required ? { example } : optionalExample(example)),
  };
}

function found({ answer, isUntagged, links }: Documentation): ResponseObject {
  const { schema, example } = answer[COMPONENT];
  return {
    description: schema.description,
    headers: isUntagged ? headers('Vary', ...QUOTA, 'Private-No-Store') : headers('ETag', 'Vary', ...COUNTED),
    content: { 'application/json': { schema: answer, example } },
    ...(links === undefined ? {} : { links: Object.fromEntries(Object.entries(links).map(linkObject)) }),
  };
}

function linkObject([operationId, parameter]: [string, string]): [string, object] {
  const description = `The first record’s \`id\` is the \`${parameter}\` of this operation.`;
  const parameters = { [parameter]: '$response.body#/results/0/id' };
  return [operationId, { description, operationId, parameters }];
}
