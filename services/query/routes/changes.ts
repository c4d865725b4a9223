/**
 * The endpoints of change feeds: one for each kind, and one for several (rule R10.1). A request is
 * answered at once, or with `wait` when there are changes. A waiting request takes a connection and
 * some memory, but no reads and no place among the requests in flight.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EntityName } from '#shared/events/entities.ts';
import { type Scope, SCOPES } from '#shared/events/access-event.ts';
import type { Client } from '../access/tokens.ts';
import { invalidParameters, Refused } from '../responses/refusal.ts';
import {
  dataRoute,
  type Route,
  routePlugin,
  sendBody,
  type Services,
} from '../endpoints/data-endpoint.ts';
import { operationOn } from '../records/kinds.ts';
import {
  cursor,
  oneOf,
  optional,
  repeatable,
  type Values,
  waitSeconds,
  withDefault,
} from '../parameters/parameter.ts';
import { readerOfOne } from '../parameters/read.ts';
import { changesPageSize, MAX_CHANGES } from '../parameters/filters.ts';
import { NOW, readAfter } from '../feed/cursor.ts';
import {
  ALL_KINDS,
  changesOf,
  changesOfKinds,
  type Feed,
  FEED_KINDS,
  feedOfKind,
  feedOfKinds,
  kindsNamed,
  nameOfKind,
  RECORDS,
} from '../feed/kinds.ts';
import { type FeedRequest, readChanges } from '../feed/read.ts';
import type { ChangesPage } from '../feed/shared-changes.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { isUnavailable } from '#shared/errors.ts';

const parameters = {
  records: withDefault(oneOf(RECORDS, { type: 'string', enum: RECORDS }), 'summary', {
    description:
      '`summary`: records as lists show them. `whole`: with everything that belongs to the record itself, ' +
      'so that no second request is needed.',
  }),
  after: optional(cursor, {
    description:
      '`next` of the answer to continue from, or `now` for later changes only. ' +
      'Without it the feed starts at the beginning: every existing record, and no earlier deletions.',
  }),
  page_size: withDefault(changesPageSize, 20, {
    description:
      `The most changes in an answer. More than ${MAX_CHANGES} counts as ${MAX_CHANGES}. ` +
      'An answer ends with the record that passes 4 MiB: `more` alone says whether there are more.',
  }),
  wait: withDefault(waitSeconds, 0, {
    description:
      'How many seconds to hold the answer while there are no changes; above 30 counts as 30. ' +
      'The answer comes as soon as something changes, otherwise without results. `HEAD` does not wait.',
  }),
};

const KIND_NAMES = ALL_KINDS.map(nameOfKind);

const kinds = repeatable(oneOf(KIND_NAMES, { type: 'string', enum: KIND_NAMES }), {
  description:
    'Only changes of this kind of records. Repeat it for several: `kinds=order&kinds=customer`. Without it: all kinds.',
});

function changesEndpoint(entity: EntityName): Route {
  const { scope, tag } = FEED_KINDS[entity];
  const plural = entity === 'store' ? 'the store’s own record' : tag.toLowerCase();
  return dataRoute(
    {
      path: `/api/${nameOfKind(entity)}/changes`,
      scopes: [scope],
      parameters,
      operationId: operationOn('follow', tag),
      tag,
      summary: `Follow changes of ${plural}`,
      description: descriptionOf(
        entity === 'store' ? 'The store’s own record where it' : `The ${plural} of the store that`,
      ),
      answer: changesOf(entity),
      isUntagged: true,
    },
    (request, reply, values, caller) =>
      answer(request, reply, caller, feedOfKind(entity, values.records), values),
  );
}

function storeChangesEndpoint(): Route {
  const readKinds = readerOfOne('kinds', kinds);
  return dataRoute(
    {
      path: '/api/changes',
      scopes: SCOPES,
      // The scopes follow from the kinds: wrong kinds are 422 before the 403.
      scopesOf: (query) => scopesOf(kindsNamed(readKinds(query))),
      parameters: { kinds, ...parameters },
      operationId: 'followChanges',
      tag: 'Changes',
      summary: 'Follow changes of several kinds',
      description: descriptionOf('The records of the store, of all kinds or those named, that'),
      requires: 'Requires the scopes of the kinds that are named; without `kinds` those of all.',
      answer: changesOfKinds(ALL_KINDS),
      isUntagged: true,
    },
    (request, reply, values, caller) =>
      answer(request, reply, caller, feedOfKinds(kindsNamed(values.kinds), values.records), values),
  );
}

function scopesOf(entities: readonly EntityName[]): readonly Scope[] {
  return SCOPES.filter((scope) => entities.some((entity) => FEED_KINDS[entity].scope === scope));
}

async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  { environment, storeId }: Client,
  feed: Feed,
  { after, page_size: pageSize, wait: seconds }: Values<typeof parameters>,
): Promise<FastifyReply> {
  const position = readAfter({ environment, storeId, feed: feed.name }, after);
  if (position === null) throw new Refused(invalidParameters(`after must be ${cursor.allowed}`));
  const followed: FeedRequest = { environment, storeId, feed, after: position, pageSize };
  if (seconds === 0 || request.method === 'HEAD') {
    const { body } = await reader(request.server.services, followed)();
    return sendBody(reply, body);
  }
  const body = await holdAnswer(request, reply, followed, seconds);
  // The client may be gone.
  return body === null ? reply.hijack() : sendBody(reply, body);
}

function descriptionOf(changed: string): string {
  return `
${changed} changed since \`after\`, each once, at its newest state, deletions too: in the order in which their last
changes took effect here, whatever times the publisher gave them.

Read from the beginning until \`more\` is \`false\`: that is a full copy. Then continue from \`next\`, and store it together with the
results. So you get every record's last state and every deletion at least once, whatever happens in between. After a rebuild or a
restored backup on our side some come again: apply each as it is, even if you seem to have it.

With \`wait\` the answer comes as soon as something changes. Waiting counts toward the quota once.
`.trim();
}

/**
 * A snapshot may be older than the poll that saw the change: the page is read again after this
 * time.
 */
const BEHIND_MS = 20;

/** Time between two polls of a waiting request for a generation that answers. */
const NO_GENERATION_MS = 250;

/** The body of an answer that waits for changes; `null` if the client is gone. */
async function holdAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  feed: FeedRequest,
  seconds: number,
): Promise<Buffer | null> {
  const { services } = request.server;
  const { socket } = request.raw;
  const read = reader(services, feed);
  const began = performance.now();
  const until = began + seconds * 1_000;
  let page: ChangesPage | null = null;
  // Again if another generation has begun to answer meanwhile.
  while (page === null && !socket.destroyed && !services.isClosing() && performance.now() < until) {
    page = await waitForChanges(request, reply, feed, read, until);
  }
  if (socket.destroyed) return null;
  request.heldMilliseconds = performance.now() - began - (request.admitted?.resumedMs ?? 0);
  if (services.isClosing()) reply.header('connection', 'close');
  try {
    return (page ?? (await read())).body;
  } finally {
    // Always, and last, since any of the steps above may take long (rule R10.7).
    await services.reauthorize(request, scopesOf(feed.feed.kinds));
  }
}

/** Makes the read of a request's changes, which may be repeated: `now` is when it was first read. */
function reader(services: Services, feed: FeedRequest) {
  let { after } = feed;
  return async (
    positions?: FeedRequest['positions'],
    generation = services.generations.of(feed.environment),
  ): Promise<ChangesPage> => {
    const { changes } = services.sharedOf(generation);
    const { begun } = services.admission;
    const hasOthers = () => services.admission.begun > begun;
    const asked = { ...feed, after, positions };
    const page = await readChanges(changes, services.readDeadline, asked, hasOthers);
    if (after === NOW) after = page.next;
    return page;
  };
}

/**
 * Resolves with the changes once there are some; with `null` when the time, the generation or the
 * service ends.
 */
async function waitForChanges(
  request: FastifyRequest,
  reply: FastifyReply,
  feed: FeedRequest,
  read: ReturnType<typeof reader>,
  until: number,
): Promise<ChangesPage | null> {
  const { services } = request.server;
  const { admission, metrics } = services;
  const generation = services.generations.find(feed.environment);
  if (generation === null) {
    const left = until - performance.now();
    await admission.whileWaiting(request.admitted, sleep(Math.min(left, NO_GENERATION_MS)));
    return null;
  }
  const { watch } = services.sharedOf(generation);
  const waiter = watch.enter(feed.storeId, feed.feed.kinds);
  const end = () => waiter.end();
  const timer = setTimeout(end, until - performance.now());
  reply.raw.once('close', end);
  metrics.waiting.inc();
  try {
    for (let waited = 0; ; waited += 1) {
      if (waited > 1) await sleep(BEHIND_MS);
      const page = await read(waiter.positions, generation).catch(nothingWhileUnavailable);
      if (page !== null && !page.isEmpty) return page;
      if (waiter.isOver) return null;
      const known = page && { position: page.next.snapshotPosition, epochs: page.stamp?.epochs };
      await admission.whileWaiting(request.admitted, waiter.waitForNews(known));
      if (waiter.isOver) return null;
    }
  } finally {
    metrics.waiting.dec();
    reply.raw.off('close', end);
    clearTimeout(timer);
    watch.leave(waiter);
  }
}

/** An outage of MongoDB does not end a wait. */
function nothingWhileUnavailable(error: unknown): null {
  if (isUnavailable(error)) return null;
  throw error;
}

export default routePlugin([...ALL_KINDS.map(changesEndpoint), storeChangesEndpoint()]);
