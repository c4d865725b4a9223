/** The headers of requests and answers (rules R7.4, R7.8); those of answers are in `headers.json`. */
import { Type } from 'typebox';
import answers from './headers.json' with { type: 'json' };
import {
  type HeaderObject,
  optionalExample,
  type ParameterObject,
  reference,
  type Reference,
} from './objects.ts';

/** Made for the document alone: what the code sends is checked against it. */
export const HEADERS = answers.headers satisfies Record<string, HeaderObject>;

/** Sent under another name than that of the component. */
const SENT_AS: Partial<Record<keyof typeof HEADERS, string>> = answers.sentAs;

/** The headers of an answer, of which `X-Request-Id` is always one. */
export function headers(...names: (keyof typeof HEADERS)[]): Record<string, Reference> {
  const all = ['X-Request-Id', ...names] as const;
  return Object.fromEntries(all.map((name) => [SENT_AS[name] ?? name, reference('headers', name)]));
}

/** The headers that tell the quota. */
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
    schema: Type.String(),
    ...optionalExample('sync-2026-11-20-0042'),
  },
  'If-None-Match': {
    name: 'If-None-Match',
    in: 'header',
    description:
      'The `ETag` of an earlier answer to the same request. If nothing changed since, the answer is 304 without a body.',
    schema: Type.String(),
    ...optionalExample('W/"q8ZSxZ0cN8l7sQm1x4b5w0uGd2k"'),
  },
} as const satisfies Record<string, ParameterObject>;
