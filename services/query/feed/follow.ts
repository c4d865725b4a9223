/**
 * Answers a request for changes, at once or, where it may wait, once there are some. While it waits it costs its connection and a
 * few hundred bytes: no reads, no place among the requests in flight.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isUnavailable } from '#shared/errors.ts';
import type { Scope } from '#shared/events/access-event.ts';
import type { Generation } from '#shared/read-models/generation.ts';
import { callerOf } from '../access/steps.ts';
import type { Bounded } from '../deadline.ts';
import type { View } from '../reading/shared-reads.ts';
import { type ChangesPage, changesBody, type FeedRequest, readChanges } from './read.ts';

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

interface Told {
  view: View;
  page: ChangesPage;
}

/** The body of the answer; `null` where the client is gone. */
export async function followChanges(app: FastifyInstance, following: Following): Promise<Buffer | null> {
  const { request, reply, feed, seconds, scopes } = following;
  const began = performance.now();
  const generationNow = () => app.generations.of(feed.environment);
  const bodyOf = ({ view, page }: Told) => changesBody(view, feed, page);
  if (seconds === 0 || app.isClosing()) {
    return bodyOf(await read(app, following, generationNow(), app.deadlineOf(reply, feed.environment)));
  }
  const { told, hasWaited } = await wait(app, following, began + seconds * 1_000);
  if (request.raw.socket.destroyed) return null;
  request.heldMilliseconds = performance.now() - began;
  if (app.isClosing()) reply.header('connection', 'close');
  if (hasWaited) await app.authenticateAgain(request, reply, scopes);
  return bodyOf(told ?? (await read(app, following, generationNow(), app.boundedIn(feed.environment))));
}

async function read(
  app: FastifyInstance,
  { request, feed }: Following,
  generation: Generation,
  bounded: Bounded,
): Promise<Told> {
  const { storeId } = callerOf(request);
  const shared = app.sharedOf(generation).reads;
  // What it reads says for itself whether to mask it.
  const view: View = { storeId, generation, bounded, shared, masks: false };
  return { view, page: await readChanges(view, feed) };
}

interface Waited {
  told: Told | null;
  hasWaited: boolean;
}

/** Resolves when there are changes, with them, or the wait is over: it goes on in the generation that answers next. */
async function wait(app: FastifyInstance, following: Following, until: number): Promise<Waited> {
  for (let isFirst = true; ; isFirst = false) {
    const generation = await generationBy(app, following, until);
    if (generation === null) return { told: null, hasWaited: true };
    const { told, hasWaited } = await waitIn(app, following, generation, until);
    const answers = app.generations.find(following.feed.environment)?.marker.id === generation.marker.id;
    const isGone = following.request.raw.socket.destroyed;
    if (told !== null || answers || isGone || app.isClosing() || performance.now() >= until) {
      return { told, hasWaited: hasWaited || !isFirst };
    }
  }
}

async function waitIn(
  app: FastifyInstance,
  following: Following,
  generation: Generation,
  until: number,
): Promise<Waited> {
  const { request, reply, feed } = following;
  const { watch } = app.sharedOf(generation);
  const waiter = watch.enter(callerOf(request).storeId, feed.entity);
  const end = () => waiter.end();
  const timer = setTimeout(end, until - performance.now());
  const { socket } = request.raw;
  // Sockets on which nothing happens are cut off otherwise.
  socket.setTimeout(0);
  reply.raw.once('close', end);
  app.metrics.waiting.inc();
  try {
    for (let waited = 0; ; waited += 1) {
      if (waited > 1) await sleep(BEHIND_MS);
      const told = await read(app, following, generation, app.boundedIn(feed.environment)).catch(
        nothingWhileUnavailable,
      );
      const hasWaited = waited > 0;
      if (told !== null && told.page.rows.length > 0) return { told, hasWaited };
      if (waiter.isOver) return { told: null, hasWaited };
      const { stamp, next } = told?.page ?? {};
      const known = next === undefined ? null : { position: next.seen, epochs: stamp?.epochs };
      await app.admission.whileWaiting(request, waiter.moved(known));
      if (waiter.isOver) return { told: null, hasWaited: true };
    }
  } finally {
    app.metrics.waiting.dec();
    reply.raw.off('close', end);
    socket.setTimeout(app.server.timeout);
    clearTimeout(timer);
    watch.leave(waiter);
  }
}

/** The generation that answers; waits for one where there is none, and answers `null` where the time is over before. */
async function generationBy(
  app: FastifyInstance,
  { request, feed }: Following,
  until: number,
): Promise<Generation | null> {
  for (;;) {
    const found = app.generations.find(feed.environment);
    const left = until - performance.now();
    if (found !== null || left <= 0 || request.raw.socket.destroyed || app.isClosing()) return found;
    await app.admission.whileWaiting(request, sleep(Math.min(left, NO_GENERATION_MS)));
  }
}

/** While MongoDB is away a wait goes on. */
function nothingWhileUnavailable(error: unknown): null {
  if (isUnavailable(error)) return null;
  throw error;
}
