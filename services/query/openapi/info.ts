/** What the document says about the API as a whole, for those who have nothing else to read. */
import { SCOPES, type Scope } from '#shared/events/access-event.ts';
import { CLIENT_SCHEME } from './token-operation.ts';
import { TOKEN_SCHEME } from './data-operation.ts';
import { TOKEN_PATH } from '../answers/send.ts';

const DESCRIPTION = `
Read-only access to the data of one store: its record, coupons, customers, reviews, campaigns, orders and menu.
Nothing that you call here creates or changes data.

## Getting started

1. You have an API key: a \`client_id\` and a \`client_secret\`, bound to one store and one environment. No parameter
   selects another.
2. \`POST ${TOKEN_PATH}\` with the key as Basic credentials gives a bearer token.
3. Send it with every call: \`Authorization: Bearer <access_token>\`.
4. When \`expires_in\` seconds have passed, or a call answers 401, get a new token and repeat the call once.

Use HTTPS, and keep the secret out of browsers, mobile apps, repositories and logs. A key that is revoked or made
inactive, and a store that is blocked, stop working at once, tokens that were issued before included.

## Scopes

A token holds all scopes of its key, or those that were asked for. A change of the key's scopes holds at once, for
tokens that were issued before too. An endpoint that names two scopes requires both.

## Paging

Lists answer \`count\`, \`page\`, \`page_size\` and \`results\`. \`page\` is 1 and \`page_size\` 20 where you don't say
otherwise, and a page has 100 records at most. Total pages are ceil(count / page_size); a page beyond the last is
empty. The order of a list is fixed, so walk it from page 1 until \`results\` is empty.

Each page is right for its moment. A walk over several is so only while nothing changes between them: a record that
comes or goes before the place that you have reached moves all behind it, so that one is told twice or not at all. With a
fixed \`created_to\` that has passed, in lists that show the newest first, what is created meanwhile stays out of the
walk; records that are deleted, that change what you filter by, or that arrive late still move it. For a complete copy
read \`/api/<kind>/changes\` from the beginning.

Paths have a slash at the end, or none, exactly as they stand here.

## Following changes

\`/api/<kind>/changes\` tells every record's last state and every deletion, in the order in which they took effect here.
Read it from the beginning for a full copy, and go on from \`next\`.

Lists of customers, orders and products also take \`updated_from\` and \`updated_to\`: windows of the publisher's time,
for questions such as “what did they change yesterday”. They are not for following changes: an event that comes late, or
with an older \`updated_at\`, lies in a window that you have already read, and deleted records are in none.

## Polling without a body

Every 200 of a data endpoint has a weak \`ETag\`. Send it back as \`If-None-Match\` with the same request, and the
answer is 304 without a body unless something changed. It counts toward the quota like any other call.

## Dates, times and money

Date-times are local store time without a zone, \`YYYY-MM-DDTHH:MM:SS\`, in answers as in parameters. Append the
\`timezone_offset\` of \`GET /api/store/info/\` to get the instant. One offset holds for all date-times of a store,
whatever the season; until the store's own record is there it is \`-03:00\`.

Amounts are strings in BRL with two decimals: \`"39.90"\`.

A field that has no value is \`null\`, a list without elements \`[]\`; none is left out.

## Quota

Calls are counted for each store and environment, not for each token: all tokens of a store share one quota.
\`RateLimit-Policy\` tells it, \`RateLimit\` what is left. Every call with a valid token counts, those that answer
304, 403, 404, 422 or 429 too.

## Errors and when to try again

Errors have a JSON body with \`code\`, for programs, and \`detail\`, for people. A path that does not exist answers 404
\`not_found\`, a method that a path does not have 405 \`method_not_allowed\` with \`Allow\`. Parameters are read
strictly: what an endpoint does not define is refused with 422, never ignored.

- 5xx and failures of the connection: try again a few times with growing pauses, and not before \`Retry-After\`.
- 429: wait for \`Retry-After\` seconds, and make no calls meanwhile.
- 401: get a new token and repeat once.
- other 4xx: correct the request first.

Repeating a \`GET\` is always safe. Every answer has an \`X-Request-Id\`: tell it when you ask for help.

## Compression and HEAD

Bodies over 1 KiB are compressed with \`gzip\` or \`br\` for those who accept it. \`HEAD\` answers like \`GET\`, without
the body.
`.trim();

/** Raised with every change that clients can notice. */
const VERSION = '1.0.0';

export const INFO = {
  title: 'Store Data API',
  version: VERSION,
  summary: 'Read-only access to the data of one store',
  description: DESCRIPTION,
  contact: { name: 'The operator who gave you your API key' },
  license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
};

const SCOPE_MEANINGS: Record<Scope, string> = {
  store: 'The store’s own record and its coupons.',
  crm: 'Customers, reviews and campaigns.',
  order: 'Orders.',
  menu: 'The menu, categories, products and option groups.',
};

export const SECURITY_SCHEMES = {
  [TOKEN_SCHEME]: {
    type: 'oauth2',
    description:
      'A short-lived bearer token, bound to one store and one environment: a JWT that follows RFC8725.',
    flows: {
      clientCredentials: {
        tokenUrl: TOKEN_PATH,
        scopes: Object.fromEntries(SCOPES.map((scope) => [scope, SCOPE_MEANINGS[scope]])),
      },
    },
  },
  [CLIENT_SCHEME]: {
    type: 'http',
    scheme: 'basic',
    description:
      'The key: `client_id` as the user, `client_secret` as the password. For the token endpoint alone.',
  },
};
