/** The objects of an OpenAPI 3.1 document that ours uses, and the headers (rules R7.4, R7.8); those of answers are in `headers.json`. */
import type { Schema } from '../records/fields.ts';
import answers from './headers.json' with { type: 'json' };

/** The groups of endpoints, in the order in which the document shows them. */
export const TAGS = {
  Access: 'Tokens: short-lived, from the credentials of an API key.',
  Store: 'The store itself: its names, address, opening hours and time zone.',
  Coupons: 'Coupons of the store, active or not.',
  Customers: 'Customers and their orders.',
  Reviews: 'What customers wrote about their orders.',
  Campaigns: 'Messages to customers, and their results.',
  Orders: 'Orders, from placing to conclusion or cancellation.',
  Menu: 'All that the store sells now, in one answer.',
  Categories: 'The categories of the menu.',
  Products: 'Products, active or not, with their option groups.',
  'Option groups': 'The choices that go with products, such as flavours and extras.',
  Changes: 'All changes of the store, of all kinds or some, in one feed.',
  Service: 'About the service itself; without a token.',
} as const;

export type Tag = keyof typeof TAGS;

export interface Reference {
  $ref: string;
}

type Example = string | number;

export interface ParameterObject {
  name: string;
  in: 'query' | 'header';
  description: string;
  required?: true;
  explode?: true;
  schema: Schema;
  example?: Example;
  examples?: Record<string, { value: Example; 'x-disabled': true }>;
}

export type Content = Record<string, { schema: Schema; example?: unknown; examples?: Record<string, object> }>;

export interface ResponseObject {
  description: string;
  headers: Record<string, Reference>;
  content?: Content;
  links?: Record<string, object>;
}

export interface OperationObject {
  operationId: string;
  tags: [Tag];
  summary: string;
  description: string;
  security: Record<string, readonly string[]>[];
  parameters: (ParameterObject | Reference)[];
  requestBody?: { description: string; required: true; content: Content };
  responses: Record<string, ResponseObject | Reference>;
}
/** The example of a parameter that may be left out: pages with which requests are tried do not send it unasked. */
export function optionalExample(value: Example): Required<Pick<ParameterObject, 'examples'>> {
  return { examples: { example: { value, 'x-disabled': true } } };
}

export function reference(kind: 'responses' | 'headers' | 'parameters', name: string): Reference {
  return { $ref: `#/components/${kind}/${name}` };
}

/** Made for the document alone: what the code sends is checked against it. */
export const HEADERS = answers.headers;

/** Sent under another name than that of the component. */
const SENT_AS: Partial<Record<keyof typeof HEADERS, string>> = answers.sentAs;

/** The headers of an answer, of which `X-Request-Id` is always one. */
export function headers(...names: (keyof typeof HEADERS)[]): Record<string, Reference> {
  const all = ['X-Request-Id', ...names] as const;
  return Object.fromEntries(all.map((name) => [SENT_AS[name] ?? name, reference('headers', name)]));
}

export const QUOTA = ['RateLimit-Policy', 'RateLimit'] as const;

/** On every answer of a data endpoint that has an entity tag. */
export const COUNTED = [...QUOTA, 'Cache-Control'] as const;

/** On every refusal of a data endpoint once its quota was counted. */
export const COUNTED_REFUSAL = [...QUOTA, 'Refusal-Cache'] as const;

/** The headers of requests, besides `Authorization`. */
export const REQUEST_HEADERS = {
  'X-Request-Id': {
    name: 'X-Request-Id',
    in: 'header',
    description:
      'An id of your own for this request, 1 to 128 of `A-Z a-z 0-9 . _ -`; it comes back in the answer. Anything else is replaced.',
    schema: { type: 'string' },
    ...optionalExample('sync-2026-11-20-0042'),
  },
  'If-None-Match': {
    name: 'If-None-Match',
    in: 'header',
    description:
      'The `ETag` of an earlier answer to the same request. If nothing changed since, the answer is 304 without a body.',
    schema: { type: 'string' },
    ...optionalExample('W/"q8ZSxZ0cN8l7sQm1x4b5w0uGd2k"'),
  },
} as const satisfies Record<string, ParameterObject>;
