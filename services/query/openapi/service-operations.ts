/** The token endpoint (rules R4.1 to R4.7) and the endpoints about the service itself in the OpenAPI document. */
import { SCOPES } from '#shared/events/access-event.ts';
import { component, described, objectOf, part, Text } from '../records/fields.ts';
import { invalidForm, invalidScope, unauthorizedClient, unsupportedGrantType } from '../token/form.ts';
import { refusals } from './data-operation.ts';
import { tokenRefusal } from './errors.ts';
import { headers, type OperationObject, reference, type Tag } from './objects.ts';

/** Name of the security scheme of a key's credentials. */
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
      description: 'The only grant that there is.',
    },
    // An empty field counts as absent.
    scope: {
      ...ScopeWords,
      description:
        'Some of the key’s scopes, separated by a space; without it the token gets all of them. One that the key does not hold gives 400 `invalid_scope`.',
      examples: ['crm order'],
    },
  },
  description:
    'The form of a token request. Other fields are ignored, except that none may come twice, and that `client_id` and `client_secret` are refused: they belong into the `Authorization` header.',
  additionalProperties: { type: 'string' },
});

const Token = part('Token', 'A token and what it is good for.', {
  access_token: described(
    Text,
    'Send it as `Authorization: Bearer <access_token>`. Its content is not for clients.',
  ),
  token_type: { type: 'string', const: 'Bearer' },
  expires_in: {
    type: 'integer',
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
    'OAuth 2.0 client credentials. Send the key’s `client_id` and `client_secret` as Basic credentials: here and nowhere else. Each call opens a new session with a new token; earlier ones stay valid until they expire. A key that has as many live tokens as it may (10,000 by default) is answered 429 until one of them ends. The token is bound to the store and the environment of its key.',
  security: [{ [CLIENT_SCHEME]: [] }],
  parameters: [reference('parameters', 'X-Request-Id')],
  requestBody: {
    description: 'The grant, and the scopes asked for.',
    required: true,
    content: {
      'application/x-www-form-urlencoded': {
        schema: TokenRequest,
        examples: {
          everything: { summary: 'All scopes of the key', value: { grant_type: 'client_credentials' } },
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
      content: {
        'application/json': {
          schema: Token,
          example: {
            access_token: 'eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.eyJpc3MiOiJzdG9yZS1kYXRhIn0.c2lnbmF0dXJl',
            token_type: 'Bearer',
            expires_in: 900,
            scope: 'store crm order menu',
          },
        },
      },
    },
    400: tokenRefusal(
      'TokenRequest',
      'The form is malformed, the grant or a scope cannot be granted, or the key may get no tokens.',
      [],
      {
        invalid_request: invalidForm('grant_type is required'),
        unsupported_grant_type: unsupportedGrantType(),
        invalid_scope: invalidScope("scope must name some of the key's own: store menu"),
        unauthorized_client: unauthorizedClient(),
      },
    ),
    ...refusals({
      401: 'InvalidClient',
      405: 'TokenMethodNotAllowed',
      429: 'SlowDown',
      500: 'TokenInternalError',
      503: 'TemporarilyUnavailable',
    }),
  },
};

function health(title: string, description: string, status: string) {
  return {
    'application/json': {
      schema: part(title, description, { status: { type: 'string', const: status } }),
      example: { status },
    },
  };
}

const open = {
  tags: ['Service'] as [Tag],
  security: [],
  parameters: [reference('parameters', 'X-Request-Id')],
};

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
    ...refusals({ 400: 'InvalidRequest', 405: 'MethodNotAllowed', 500: 'InternalError' }),
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
  description: 'This description of the API, in OpenAPI 3.1. Without a token, and outside of the quota.',
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
          }),
        },
      },
    },
    304: {
      description: 'Nothing changed since the document that `If-None-Match` names. There is no body.',
      headers: headers('ETag', 'Vary', 'Public-Cache'),
    },
    ...refusals({ 400: 'InvalidRequest', 405: 'MethodNotAllowed', 500: 'InternalError' }),
  },
};
