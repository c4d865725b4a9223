/**
 * The operations of the OpenAPI document: of data endpoints, the token endpoint (R4.1 to R4.7) and
 * the service itself.
 */
import { type Scope, SCOPES } from '#shared/events/access-event.ts';
import type { Parameter, Parameters } from '../parameters/parameter.ts';
import {
  COMPONENT,
  component,
  described,
  objectOf,
  part,
  type Reference,
  Text,
} from '#shared/records/answer.ts';
import {
  invalidForm,
  invalidScope,
  UNAUTHORIZED_CLIENT,
  UNSUPPORTED_GRANT_TYPE,
} from '../token/form.ts';
import { type REFUSALS, refusalAnswer } from './errors.ts';
import {
  COUNTED,
  headers,
  type OperationObject,
  optionalExample,
  type Part,
  QUOTA,
  reference,
  type Tag,
} from './objects.ts';

/** What a data endpoint says of itself to those who call it. */
export interface Documentation {
  operationId: string;
  tag: Tag;
  summary: string;
  description: string;
  /** What a 200 holds: a record, or an envelope of records. */
  answer: Reference;
  /** All of them are required. */
  scopes: readonly [Scope, ...Scope[]];
  parameters: Parameters;
  /** Whether the record may be missing: 404 then. */
  mayBeMissing?: true;
  /** Whether the answer has no entity tag, by which a client may ask whether anything changed. */
  isUntagged?: true;
  /** Which scopes it requires, if that is not all of them. */
  requires?: string;
  /** Other operations that take the id of the first record of the answer, and their parameter. */
  links?: Readonly<Record<string, string>>;
}

export const TOKEN_SCHEME = 'accessToken';

export function dataOperation(about: Documentation): OperationObject {
  const {
    operationId,
    tag,
    summary,
    description,
    scopes,
    requires = scopeSentence(scopes),
    parameters,
    mayBeMissing,
    isUntagged,
  } = about;
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
      ...(!isUntagged && { 304: reference('responses', 'NotModified') }),
      ...refusals({
        400: 'InvalidRequest',
        401: 'InvalidToken',
        403: 'InsufficientScope',
        ...(mayBeMissing && { 404: 'NotFound' }),
        405: 'MethodNotAllowed',
        422: 'InvalidParameters',
        429: 'RateLimitExceeded',
        500: 'InternalError',
        503: 'EnvironmentUnavailable',
      }),
    },
  };
}

function refusals(names: Record<number, keyof typeof REFUSALS>): Record<string, Part> {
  return Object.fromEntries(
    Object.entries(names).map(([status, name]) => [status, reference('responses', name)]),
  );
}

/** The answer to a condition that holds. */
export const NOT_MODIFIED: Part = {
  description: 'Nothing changed since the answer that `If-None-Match` names. There is no body.',
  headers: headers('ETag', 'Vary', ...COUNTED),
};

function scopeSentence(scopes: readonly Scope[]): string {
  const named = scopes.map((scope) => `\`${scope}\``).join(' and ');
  return scopes.length === 1
    ? `Requires the scope ${named}.`
    : `Requires the scopes ${named}, all of them.`;
}

function queryParameter([name, parameter]: [string, Parameter<unknown>]): Part {
  const { description, schema, absent, repeatable, example } = parameter;
  const required = absent === undefined;
  return {
    name,
    in: 'query',
    description,
    ...(required && { required: true }),
    ...(repeatable && { explode: true }),
    schema,
    ...(example === undefined ? {} : required ? { example } : optionalExample(example)),
  };
}

function found({ answer, isUntagged, links }: Documentation): Part {
  const { schema, example } = answer[COMPONENT];
  return {
    description: schema.description,
    headers: isUntagged
      ? headers('Vary', ...QUOTA, 'Private-No-Store')
      : headers('ETag', 'Vary', ...COUNTED),
    content: json(answer, example),
    ...(links && { links: Object.fromEntries(Object.entries(links).map(linkObject)) }),
  };
}

function json(schema: Reference, example: object | undefined): Part {
  return { 'application/json': { schema, example } };
}

function linkObject([operationId, parameter]: [string, string]): [string, object] {
  const description = `The first record’s \`id\` is the \`${parameter}\` of this operation.`;
  const parameters = { [parameter]: '$response.body#/results/0/id' };
  return [operationId, { description, operationId, parameters }];
}

export const CLIENT_SCHEME = 'clientCredentials';

const scope = `(?:${SCOPES.join('|')})`;

const ScopeWords = { type: 'string', pattern: `^(?:${scope}(?: ${scope})*)?$` };

const TokenRequest = component('TokenRequest', {
  type: 'object',
  required: ['grant_type'],
  properties: {
    grant_type: {
      type: 'string',
      const: 'client_credentials',
      description: 'The only grant type.',
    },
    // An empty field counts as absent.
    scope: {
      ...ScopeWords,
      description:
        'Some of the key’s scopes, separated by a space; without it the token gets all of them. One that the key does ' +
        'not hold gives 400 `invalid_scope`.',
      examples: ['crm order'],
    },
  },
  description:
    'The form of a token request. Other fields are ignored, except that none may come twice, and that `client_id` ' +
    'and `client_secret` are refused: they belong in the `Authorization` header.',
});

const Token = part('Token', 'A token, its lifetime and its scopes.', {
  access_token: described(
    Text,
    'Send it as `Authorization: Bearer <access_token>`. Its content is not for clients.',
  ),
  token_type: { type: 'string', const: 'Bearer' },
  expires_in: {
    type: 'integer',
    format: 'int64',
    minimum: 1,
    description: 'Seconds until it expires. Get the next one then: there is no refresh token.',
  },
  scope: described(ScopeWords, 'The scopes that it holds, separated by a space.'),
});

export const tokenOperation: OperationObject = {
  operationId: 'issueToken',
  tags: ['Access'],
  summary: 'Get a token',
  description:
    'OAuth 2.0 client credentials. Send the key’s `client_id` and `client_secret` as Basic credentials, only ' +
    'here. Each call opens a new session with a new token; earlier ones stay valid until they expire. A key ' +
    'with the maximum number of live tokens (10,000 by default) is answered 429 until one of them ends. The token is ' +
    'bound to the store and the environment of its key.',
  security: [{ [CLIENT_SCHEME]: [] }],
  parameters: [reference('parameters', 'X-Request-Id')],
  requestBody: {
    description: 'The grant, and the scopes asked for.',
    required: true,
    content: {
      'application/x-www-form-urlencoded': {
        schema: TokenRequest,
        examples: {
          everything: {
            summary: 'All scopes of the key',
            value: { grant_type: 'client_credentials' },
          },
          some: {
            summary: 'Two scopes',
            value: { grant_type: 'client_credentials', scope: 'crm order' },
          },
        },
      },
    },
  },
  responses: {
    200: {
      description: 'A new token.',
      headers: headers('No-Store'),
      content: json(Token, {
        access_token:
          'eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.eyJpc3MiOiJzdG9yZS1kYXRhIn0.c2lnbmF0dXJl',
        token_type: 'Bearer',
        expires_in: 900,
        scope: 'store crm order menu',
      }),
    },
    400: refusalAnswer('TokenRequest', [
      'The form is malformed, the grant or a scope cannot be granted, or the key may get no tokens.',
      ['No-Store'],
      {
        invalid_request: invalidForm('grant_type is required'),
        unsupported_grant_type: UNSUPPORTED_GRANT_TYPE,
        invalid_scope: invalidScope("scope must name some of the key's own: store menu"),
        unauthorized_client: UNAUTHORIZED_CLIENT,
      },
    ]),
    ...refusals({
      401: 'InvalidClient',
      405: 'TokenMethodNotAllowed',
      429: 'SlowDown',
      500: 'TokenInternalError',
      503: 'TemporarilyUnavailable',
    }),
  },
};

function health(name: string, description: string, status: string): Part {
  return json(part(name, description, { status: { type: 'string', const: status } }), { status });
}

const OPEN_REFUSALS = refusals({
  400: 'InvalidRequest',
  405: 'MethodNotAllowed',
  500: 'InternalError',
});

const open = {
  tags: ['Service'],
  security: [],
  parameters: [reference('parameters', 'X-Request-Id')],
} as const;

export const healthOperation: OperationObject = {
  ...open,
  operationId: 'getHealth',
  summary: 'Ask whether the service is available',
  description: 'Whether data can be answered now. Without a token, and outside of the quota.',
  responses: {
    200: {
      description: 'The service is available.',
      headers: headers('No-Store'),
      content: health('Available', 'All is well.', 'ok'),
    },
    ...OPEN_REFUSALS,
    503: {
      description: 'The service is not available for now.',
      headers: headers('No-Store', 'Retry-After'),
      content: health('Unavailable', 'Try again later.', 'unavailable'),
    },
  },
};

export const documentOperation: OperationObject = {
  ...open,
  operationId: 'getOpenApiDocument',
  summary: 'Get this document',
  description:
    'This description of the API, in OpenAPI 3.1. Without a token, and outside of the quota.',
  parameters: [...open.parameters, reference('parameters', 'If-None-Match')],
  responses: {
    200: {
      description: 'The document.',
      headers: headers('ETag', 'Vary', 'Public-Cache'),
      content: {
        'application/json': {
          schema: component('OpenApiDocument', {
            ...objectOf({
              openapi: { type: 'string', pattern: '^3[.]1[.]' },
              info: objectOf({}),
              paths: objectOf({}),
            }),
            description: 'An OpenAPI 3.1 document.',
            additionalProperties: true,
          }),
        },
      },
    },
    304: {
      description:
        'Nothing changed since the document that `If-None-Match` names. There is no body.',
      headers: headers('ETag', 'Vary', 'Public-Cache'),
    },
    ...OPEN_REFUSALS,
  },
};
