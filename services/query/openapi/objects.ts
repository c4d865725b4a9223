/**
 * Tags and headers of the OpenAPI document (rules R7.4, R7.8). The headers of answers are in
 * `headers.json`.
 */
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
  Menu: 'Everything that the store sells now, in one answer.',
  Categories: 'The categories of the menu.',
  Products: 'Products, active or not, with their option groups.',
  'Option groups': 'The choices that go with products, such as flavours and extras.',
  Changes: 'All changes of the store, of all kinds or some, in one feed.',
  Service: 'About the service itself; without a token.',
} as const;

export type Tag = keyof typeof TAGS;

/** An object of the document. The linters of `npm run check` know its rules. */
export type Part = Readonly<Record<string, unknown>>;

export interface OperationObject extends Part {
  tags: readonly [Tag];
  security: readonly Readonly<Record<string, readonly string[]>>[];
  parameters: readonly Part[];
}

/**
 * The example of an optional parameter. Pages that try requests send it only when it is switched
 * on.
 */
export function optionalExample(value: string | number): Part {
  return { examples: { example: { value, 'x-disabled': true } } };
}

export function reference(kind: 'responses' | 'headers' | 'parameters', name: string): Part {
  return { $ref: `#/components/${kind}/${name}` };
}

/** For the document alone: tests compare what the code sends with it. */
export const HEADERS = answers.headers;

/** The names of headers whose components are called otherwise. */
const SENT_AS: Partial<Record<keyof typeof HEADERS, string>> = answers.sentAs;

/** The headers of an answer; `X-Request-Id` is one of all of them. */
export function headers(...names: (keyof typeof HEADERS)[]): Record<string, Part> {
  const all = ['X-Request-Id', ...names] as const;
  return Object.fromEntries(all.map((name) => [SENT_AS[name] ?? name, reference('headers', name)]));
}

export const QUOTA = ['RateLimit-Policy', 'RateLimit'] as const;

/** On every answer of a data endpoint that has an entity tag. */
export const COUNTED = [...QUOTA, 'Cache-Control'] as const;

/** On every refusal of a data endpoint once its quota was counted. */
export const COUNTED_REFUSAL = [...QUOTA, 'Refusal-Cache'] as const;

function requestHeader(name: string, description: string, example: string): Part {
  const schema = { type: 'string' };
  return { name, in: 'header', description, schema, ...optionalExample(example) };
}

/** The headers of requests, besides `Authorization`. */
export const REQUEST_HEADERS = {
  'X-Request-Id': requestHeader(
    'X-Request-Id',
    'An id of your own for this request, 1 to 128 of `A-Z a-z 0-9 . _ -`; it comes back in the answer. Anything else is replaced.',
    'sync-2026-11-20-0042',
  ),
  'If-None-Match': requestHeader(
    'If-None-Match',
    'The `ETag` of an earlier answer to the same request. If nothing changed since, the answer is 304 without a body.',
    'W/"q8ZSxZ0cN8l7sQm1x4b5w0uGd2k"',
  ),
};
