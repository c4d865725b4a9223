/**
 * The endpoint of a change feed, one for each kind (rule R10.1). A request is answered at once or, where it may wait, once there are changes.
 * While it waits it costs its connection and a few hundred bytes: no reads, no place among the requests in flight.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EntityName } from '#shared/events/entities/index.ts';
import { callerOf } from '../access/steps.ts';
import { invalidParameters, Refused } from '../responses/refusal.ts';
import { dataRoute, sendBody, type Services } from './data-endpoint.ts';
import { KINDS, type KindName, operationOn, pathOfKind } from '../records/kinds.ts';
import { changes } from '../openapi/data-operation.ts';
import { paging } from '../parameters/filters.ts';
import { cursor, optional, waitSeconds, withDefault } from '../parameters/parameter.ts';
import { type Cursor, decodeCursor } from '../feed/cursor.ts';
import { type FeedRequest, type ChangesPage, changesBody, readChanges } from '../feed/read.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { isUnavailable } from '#shared/errors.ts';
import type { Scope } from '#shared/events/access-event.ts';
import type { Generation } from '#shared/read-models/generation.ts';
import type { WithDeadline } from '../deadline.ts';
import type { Route } from './route.ts';

const parameters = {
  after: optional(cursor, {
    description:
      '`next` of the answer after which to go on. Without it the feed begins at the beginning: every record that is there, and no deletions from before.',
  }),
  page_size: paging.page_size,
  wait: withDefault(waitSeconds, 0, {
    description:
      'For how many seconds to hold the answer while there are no changes; above 30 counts as 30. It is answered as soon as something changes, and else with no results. `HEAD` does not wait.',
  }),
};

/** Makes the route of a kind's feed. */
export function changesEndpoint(entity: KindName): Route {
  const { scope, tag, summary } = KINDS[entity];
  const plural = tag.toLowerCase();
  const documentation = {
    operationId: operationOn('follow', entity),
    tag,
    summary: `Follow changes of ${plural}`,
    description: descriptionOf(plural),
    answer: changes(summary),
  };
  const path = `${pathOfKind(entity)}/changes`;
  return dataRoute(
    { path, scopes: [scope], parameters, documentation },
    'private, no-store',
    async (request, reply, { after, page_size: pageSize, wait }) => {
      const { environment } = callerOf(request);
      const feed: FeedRequest = {
        environment,
        entity,
        after: cursorIn(request, entity, after),
        pageSize,
      };
      const seconds = request.method === 'HEAD' ? 0 : wait;
      const body = await followChanges(request.server.services, {
        request,
        reply,
        feed,
        seconds,
        scopes: [scope],
      });
      // Nobody may be there any longer who could be answered.
      return body === null ? reply.hijack() : sendBody(reply, body);
    },
  );
}

/** @throws {Refused} for a cursor that is none, or one of another store, environment or kind. */
function cursorIn(request: FastifyRequest, entity: EntityName, text: string | null): Cursor | null {
  if (text === null) return null;
  const { environment, storeId } = callerOf(request);
  const found = decodeCursor({ environment, storeId, entity }, text);
  if (found === null) throw new Refused(invalidParameters(`after must be ${cursor.allowed}`));
  return found;
}

function descriptionOf(plural: string): string {
  return `
The ${plural} of the store that changed since \`after\`, each once, at its newest state, deletions too: in the order in which their last
changes took effect here, whatever times the publisher gave them.

Read from the beginning until \`more\` is \`false\`: that is a full copy. Then go on from \`next\`, which you store together with what
you made of the results. Whoever does so is told every record's last state and every deletion at least once, whatever happens
in between; after a rebuild or a restored backup on our side some are told again, so apply what you are told as it is,
also where you seem to have it.

With \`wait\` the answer comes as soon as something changes. Waiting counts toward the quota once.
`.trim();
}

export interface Following {
  request: FastifyRequest;
  reply: FastifyReply;
  feed: FeedRequest;
  /** How long the answer may be held. */
  seconds: number;
  scopes: readonly Scope[];
}

/** What was seen of a store is read a moment later from a snapshot that may not hold it yet. */
const BEHIND_MS = 20;

/** How often somebody who waits asks for a generation where there is none. */
const NO_GENERATION_MS = 250;

interface Delivery {
  storeId: string;
  page: ChangesPage;
}

/** The body of the answer; `null` where the client is gone. */
export async function followChanges(services: Services, following: Following): Promise<Buffer | null> {
  const { request, reply, feed, seconds, scopes } = following;
  const readNow = (withDeadline: WithDeadline) =>
    read(services, following, services.generations.of(feed.environment), withDeadline);
  const bodyOf = ({ storeId, page }: Delivery) => changesBody(storeId, feed, page);
  if (seconds === 0) return bodyOf(await readNow(services.requestDeadline(reply, feed.environment)));
  const began = performance.now();
  const delivery = services.isClosing() ? null : await wait(services, following, began + seconds * 1_000);
  if (request.raw.socket.destroyed) return null;
  request.heldMilliseconds = performance.now() - began;
  if (services.isClosing()) reply.header('connection', 'close');
  try {
    return bodyOf(delivery ?? (await readNow(services.deadlineFor(feed.environment))));
  } finally {
    // Every time, and last: nobody has to know which of the steps above took long (rule R10.5).
    await services.reauthorize(request, reply, scopes);
  }
}

async function read(
  services: Services,
  { request, feed }: Following,
  generation: Generation,
  withDeadline: WithDeadline,
): Promise<Delivery> {
  const { storeId } = callerOf(request);
  const { changes } = services.sharedOf(generation);
  return { storeId, page: await readChanges(changes, withDeadline, storeId, feed) };
}

/**
 * Resolves when there are changes, with them, or the wait is over, with `null`: it continues in the generation that answers next.
 */
async function wait(services: Services, following: Following, until: number): Promise<Delivery | null> {
  for (;;) {
    const generation = await generationBy(services, following, until);
    if (generation === null) return null;
    const delivery = await waitIn(services, following, generation, until);
    const answers = services.generations.find(following.feed.environment)?.marker.id === generation.marker.id;
    const isGone = following.request.raw.socket.destroyed;
    if (delivery !== null || answers || isGone || services.isClosing() || performance.now() >= until)
      return delivery;
  }
}

async function waitIn(
  services: Services,
  following: Following,
  generation: Generation,
  until: number,
): Promise<Delivery | null> {
  const { request, reply, feed } = following;
  const { watch } = services.sharedOf(generation);
  const waiter = watch.enter(callerOf(request).storeId, feed.entity);
  const end = () => waiter.end();
  const timer = setTimeout(end, until - performance.now());
  const { socket } = request.raw;
  // Sockets on which nothing happens are cut off otherwise.
  socket.setTimeout(0);
  reply.raw.once('close', end);
  services.metrics.waiting.inc();
  try {
    for (let waited = 0; ; waited += 1) {
      if (waited > 1) await sleep(BEHIND_MS);
      const delivery = await read(
        services,
        following,
        generation,
        services.deadlineFor(feed.environment),
      ).catch(nothingWhileUnavailable);
      if (delivery !== null && delivery.page.rows.length > 0) return delivery;
      if (waiter.isOver) return null;
      const { stamp, next } = delivery?.page ?? {};
      const known = next === undefined ? null : { position: next.snapshotPosition, epochs: stamp?.epochs };
      await services.admission.whileWaiting(request.admitted, waiter.moved(known));
      if (waiter.isOver) return null;
    }
  } finally {
    services.metrics.waiting.dec();
    reply.raw.off('close', end);
    socket.setTimeout(request.server.server.timeout);
    clearTimeout(timer);
    watch.leave(waiter);
  }
}

/** The generation that answers; waits for one where there is none, and answers `null` where the time is over before. */
async function generationBy(
  services: Services,
  { request, feed }: Following,
  until: number,
): Promise<Generation | null> {
  for (;;) {
    const found = services.generations.find(feed.environment);
    const left = until - performance.now();
    if (found !== null || left <= 0 || request.raw.socket.destroyed || services.isClosing()) return found;
    await services.admission.whileWaiting(request.admitted, sleep(Math.min(left, NO_GENERATION_MS)));
  }
}

/** While MongoDB is away a wait goes on. */
function nothingWhileUnavailable(error: unknown): null {
  if (isUnavailable(error)) return null;
  throw error;
}
