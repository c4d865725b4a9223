/**
 * The answers that refuse, with examples that the code itself made, so that words and codes are the
 * real ones.
 */
import {
  asTokenRefusal,
  errorBody,
  ENVIRONMENT_UNAVAILABLE,
  insufficientScope,
  INTERNAL_ERROR,
  invalidRequest,
  invalidToken,
  methodNotAllowed,
  notFound,
  OVERLOADED,
  rateLimitExceeded,
  type Refusal,
  Refused,
} from '../responses/refusal.ts';
import { bearerMissing } from '../access/live-access.ts';
import { required, id } from '../parameters/parameter.ts';
import { parameterReader } from '../parameters/read.ts';
import { orderFilters, paging } from '../parameters/filters.ts';
import { described, part, Text } from '#shared/records/answer.ts';
import { INVALID_CLIENT, tooManyFailures, tooManyTokens } from '../token/form.ts';
import { COUNTED_REFUSAL, headers, type HEADERS, type Part } from './objects.ts';

const Detail = described(
  Text,
  'The mistake, in words for people; they may change. Never holds personal data or secrets.',
);

/**
 * When a refusal comes and what to do then, its headers besides those of every refusal, and
 * examples.
 */
type Described = [
  description: string,
  sent: readonly (keyof typeof HEADERS)[],
  examples: Record<string, Refusal>,
];

/**
 * An answer that refuses. Each kind's body is a component of its own with a plain list of its
 * codes: generators make nothing of schemas that narrow another. @param name the schema is called
 * `<name>Error`.
 */
export function refusalAnswer(name: string, [description, sent, examples]: Described): Part {
  // Those of the token endpoint alone are never to be stored.
  const ofToken = sent.includes('No-Store');
  const codes = [...new Set(Object.values(examples).map(({ code }) => code))];
  const codeOf = (meaning: string) => ({ type: 'string', enum: codes, description: meaning });
  const fields = ofToken
    ? {
        error: codeOf(
          'For programs: the OAuth 2.0 error code (RFC 6749 section 5.2), or one of ours if it has none.',
        ),
        error_description: Detail,
        code: codeOf('The same as `error`.'),
        detail: described(Text, 'The same as `error_description`.'),
      }
    : { code: codeOf('For programs: one code for each kind of error.'), detail: Detail };
  const why = ofToken ? 'Why there is no token.' : 'Why there is no other answer.';
  const schema = part(`${name.replace(/Error$/, '')}Error`, why, fields);
  const shown = Object.entries(examples).map(([of, refusal]) => [
    of,
    { value: errorBody(refusal, ofToken) },
  ]);
  return {
    description,
    headers: headers(...sent, 'Help-Link'),
    content: { 'application/json': { schema, examples: Object.fromEntries(shown) as Part } },
  };
}

/** What the reader of parameters says to a query. */
function refusalOf(read: (query: string) => unknown, query: string): Refusal {
  try {
    read(query);
  } catch (error) {
    if (error instanceof Refused) return error.refusal;
    throw error;
  }
  throw new Error('the example query is valid');
}

const readOrders = parameterReader({ ...paging, ...orderFilters });
const readOrder = parameterReader({ order_id: required(id, { description: '' }) });

const DESCRIBED = {
  InvalidRequest: [
    'The request is not well-formed HTTP/1.1. Requests that are too large or too slow get 413, 431 or 408 with the same code.',
    [],
    {
      malformed: invalidRequest('the request is not well-formed HTTP'),
      host: invalidRequest('the Host header is required'),
    },
  ],
  InvalidToken: [
    'The bearer token is missing, invalid, expired or revoked. Get a new one with the same credentials and repeat ' +
      'the call once. Nothing is taken from the quota.',
    ['Bearer-Challenge', 'Refusal-Cache'],
    {
      missing: invalidToken(bearerMissing(undefined)),
      refused: invalidToken('the token is invalid, expired or revoked'),
    },
  ],
  InsufficientScope: [
    'The token lacks a scope that the endpoint requires; `detail` names the missing ones. Repeating does not ' +
      'help: ask for a token with them, or for a key that holds them.',
    ['Scope-Challenge', ...COUNTED_REFUSAL],
    { missing: insufficientScope(['crm', 'order'], ['crm']) },
  ],
  NotFound: [
    'This store has no such record in this environment.',
    COUNTED_REFUSAL,
    { record: notFound('this store has no such record') },
  ],
  MethodNotAllowed: [
    'The path is right, but the method is not: data is read with `GET`, or `HEAD` for the headers only.',
    ['Allow'],
    { method: methodNotAllowed(['GET', 'HEAD']) },
  ],
  InvalidParameters: [
    'A parameter is unknown, missing, repeated, empty or malformed; `detail` names it. Correct the request before trying again.',
    COUNTED_REFUSAL,
    {
      unknown: refusalOf(readOrders, 'stauts=pending'),
      value: refusalOf(readOrders, 'created_from=2026-11-20'),
      range: refusalOf(
        readOrders,
        'created_from=2026-11-21T00:00:00&created_to=2026-11-20T00:00:00',
      ),
      missing: refusalOf(readOrder, ''),
    },
  ],
  RateLimitExceeded: [
    'The store’s quota is used up. Wait for `Retry-After` seconds, and make no calls until then: they would count too.',
    ['Retry-After', ...COUNTED_REFUSAL],
    { exceeded: rateLimitExceeded(42) },
  ],
  InternalError: [
    'The request failed on our side. Try again a limited number of times, with growing pauses.',
    [],
    { failed: INTERNAL_ERROR },
  ],
  EnvironmentUnavailable: [
    'The data of this environment cannot be reached for now, or there are more requests than can be answered in time. Try ' +
      'again after `Retry-After` seconds, a limited number of times, with growing pauses.',
    ['Retry-After', 'Refusal-Cache'],
    { unavailable: ENVIRONMENT_UNAVAILABLE, overloaded: OVERLOADED },
  ],
  InvalidClient: [
    'Wrong `client_id` or `client_secret`, no Basic credentials, or a revoked key.',
    ['No-Store', 'Basic-Challenge'],
    { client: INVALID_CLIENT },
  ],
  TokenMethodNotAllowed: [
    'The path is right, but the method is not.',
    ['No-Store', 'Allow'],
    { method: methodNotAllowed(['POST']) },
  ],
  SlowDown: [
    'Too many failed authentications of this client from this address, or, if the secret is wrong, of this client ' +
      'or from this address; or the key has the maximum number of live tokens. Wait for `Retry-After` seconds.',
    ['No-Store', 'Retry-After'],
    { failures: tooManyFailures(29_000, 60), tokens: tooManyTokens(29_000) },
  ],
  TokenInternalError: [
    'The request failed on our side. Try again a limited number of times, with growing pauses.',
    ['No-Store'],
    { failed: asTokenRefusal(INTERNAL_ERROR) },
  ],
  TemporarilyUnavailable: [
    'No tokens can be issued for now, or there are more requests than can be answered in time. Try again after `Retry-After` ' +
      'seconds, a limited number of times, with growing pauses.',
    ['No-Store', 'Retry-After'],
    {
      unavailable: asTokenRefusal(ENVIRONMENT_UNAVAILABLE),
      overloaded: asTokenRefusal(OVERLOADED),
    },
  ],
} satisfies Record<string, Described>;

/** Every answer that refuses, but that of malformed token requests. */
export const REFUSALS = Object.fromEntries(
  Object.entries<Described>(DESCRIBED).map(([name, about]) => [name, refusalAnswer(name, about)]),
) as Record<keyof typeof DESCRIBED, Part>;
