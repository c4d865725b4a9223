/** The headers of requests and answers (rules R7.4, R7.8). */
import { Type } from 'typebox';
import { REALM } from '../answers/refusal.ts';
import {
  type HeaderObject,
  optionalExample,
  type ParameterObject,
  reference,
  type Reference,
} from './objects.ts';

function text(description: string, pattern: string, example: string): HeaderObject {
  return { description, required: true, schema: Type.String({ pattern }), example };
}

/** Made for the document alone: what the code sends is checked against it. */
export const HEADERS = {
  'X-Request-Id': text(
    'The id by which this request is found in our logs; the request’s own where it sent a usable one.',
    '^[A-Za-z0-9._-]{1,128}$',
    '6f1c0a9e-7c39-4a53-9d0b-0b8f2f6a4a11',
  ),
  'RateLimit-Policy': text(
    'The quota of the store in this environment: `q` requests in `w` seconds, shared by all its tokens.',
    '^"store";q=[0-9]+;w=[0-9]+$',
    '"store";q=600;w=60',
  ),
  RateLimit: text(
    'What is left of the quota: `r` requests, and `t` seconds until it is full again.',
    '^"store";r=[0-9]+;t=[0-9]+$',
    '"store";r=588;t=42',
  ),
  'Retry-After': {
    description: 'How many seconds to wait before the next attempt.',
    required: true,
    schema: Type.Integer({ minimum: 1 }),
    example: 2,
  },
  ETag: text(
    'Names this state of the answer. Send it back as `If-None-Match` to learn whether anything changed.',
    '^W/"[A-Za-z0-9_-]+"$',
    'W/"q8ZSxZ0cN8l7sQm1x4b5w0uGd2k"',
  ),
  'Cache-Control': text(
    'Caches of one client may keep the answer, and ask with `If-None-Match` before using it again.',
    '^private, no-cache$',
    'private, no-cache',
  ),
  'Public-Cache': text(
    'The document may be kept for a while: it changes with releases only.',
    '^public, max-age=[0-9]+$',
    'public, max-age=300',
  ),
  'Private-No-Store': text(
    'The answer is for one client at one moment, and never to be kept.',
    '^private, no-store$',
    'private, no-store',
  ),
  'Refusal-Cache': text(
    'No shared cache may keep the answer; those of change feeds are never to be kept.',
    '^private, no-(?:cache|store)$',
    'private, no-cache',
  ),
  'No-Store': text('What this endpoint answers is never to be kept.', '^no-store$', 'no-store'),
  Vary: text(
    'The answer is compressed for clients that accept `gzip` or `br`.',
    'accept-encoding',
    'accept-encoding',
  ),
  Allow: text('The methods that there are at this path.', '^[A-Z]+(?:, [A-Z]+)*$', 'GET, HEAD'),
  'Bearer-Challenge': text(
    'Says that a valid bearer token is needed, and what is wrong with the one that was sent.',
    `^Bearer realm="${REALM}", error="invalid_token", error_description="[^"\\\\]+"$`,
    `Bearer realm="${REALM}", error="invalid_token", error_description="the token is invalid, expired or revoked"`,
  ),
  'Scope-Challenge': text(
    'Names all scopes that the endpoint requires.',
    `^Bearer realm="${REALM}", error="insufficient_scope", scope="[a-z]+(?: [a-z]+)*"$`,
    `Bearer realm="${REALM}", error="insufficient_scope", scope="crm order"`,
  ),
  'Basic-Challenge': text(
    'Says that Basic credentials are needed.',
    `^Basic realm="${REALM}"$`,
    `Basic realm="${REALM}"`,
  ),
} satisfies Record<string, HeaderObject>;

/** Sent under another name than that of the component. */
const SENT_AS: Partial<Record<keyof typeof HEADERS, string>> = {
  'Public-Cache': 'Cache-Control',
  'No-Store': 'Cache-Control',
  'Private-No-Store': 'Cache-Control',
  'Refusal-Cache': 'Cache-Control',
  'Bearer-Challenge': 'WWW-Authenticate',
  'Scope-Challenge': 'WWW-Authenticate',
  'Basic-Challenge': 'WWW-Authenticate',
};

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
