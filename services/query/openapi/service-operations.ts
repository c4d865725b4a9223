/** The endpoints about the service itself in the OpenAPI document. */
import { Type } from 'typebox';
import { part } from '../records/fields.ts';
import { refusals } from './data-operation.ts';
import { headers, REQUEST_HEADERS } from './headers.ts';
import { type OperationObject, reference, type Tag } from './objects.ts';

function health(title: string, description: string, status: string) {
  return {
    'application/json': {
      schema: part(title, description, { status: Type.Literal(status) }),
      example: { status },
    },
  };
}

const open = {
  tags: ['Service'] as [Tag],
  security: [],
  parameters: [reference('parameters', REQUEST_HEADERS['X-Request-Id'].name)],
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
  parameters: [...open.parameters, reference('parameters', REQUEST_HEADERS['If-None-Match'].name)],
  responses: {
    200: {
      description: 'The document.',
      headers: headers('ETag', 'Vary', 'Public-Cache'),
      content: {
        'application/json': {
          schema: Type.Object(
            { openapi: Type.String({ pattern: '^3[.]1[.]' }), info: Type.Object({}), paths: Type.Object({}) },
            { title: 'OpenApiDocument', description: 'An OpenAPI 3.1 document.' },
          ),
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
