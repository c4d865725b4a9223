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
import type { View } from '../reading/view.ts';
import { type ChangesPage, changesBody, type FeedRequest, readChanges } from './read.ts';
import type { Waiter, Watch } from './watch.ts';

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

/** The body of the answer; `null` where the client is gone. */
export async function followChanges(app: FastifyInstance, following: Following): Promise<Buffer | null> {
  const { request, reply, feed, seconds } = following;
  if (seconds === 0 || app.isClosing()) {
    const view = viewOf(app, request, app.generations.of(feed.environment), app.deadlineOf(reply));
    return changesBody(view, feed, await readChanges(view, feed));
  }
  return new Wait(app, following).answer();
}

function viewOf(
  app: FastifyInstance,
  request: FastifyRequest,
  generation: Generation,
  bounded: Bounded,
): View {
  const { storeId } = callerOf(request);
  // What it reads says for itself whether to mask it.
  return { storeId, generation, bounded, shared: app.sharedReads(generation), masks: false };
}

/** One answer that may be held. */
class Wait {
  readonly #app: FastifyInstance;
  readonly #following: Following;
  readonly #began = performance.now();
  readonly #until: number;
  #view: View | null = null;
  #page: ChangesPage | null = null;

  constructor(app: FastifyInstance, following: Following) {
    this.#app = app;
    this.#following = following;
    this.#until = this.#began + following.seconds * 1_000;
  }

  async answer(): Promise<Buffer | null> {
    const { request, reply, scopes } = this.#following;
    const { socket } = request.raw;
    const hasWaited = await this.#untilThereIsSomething();
    if (socket.destroyed) return null;
    request.heldMilliseconds = performance.now() - this.#began;
    if (hasWaited) await this.#app.authenticateAgain(request, reply, scopes);
    if (this.#app.isClosing()) reply.header('connection', 'close');
    return this.#body();
  }

  /** Resolves when there are changes, or the wait is over. @returns whether anybody had to wait. */
  async #untilThereIsSomething(): Promise<boolean> {
    const { request, reply, feed } = this.#following;
    const generation = await this.#generation();
    if (generation === null) return true;
    const watch = this.#app.watchOf(generation);
    const waiter = watch.enter(callerOf(request).storeId, feed.entity);
    const end = () => waiter.end();
    const timer = setTimeout(end, this.#until - performance.now());
    const { socket } = request.raw;
    // Sockets on which nothing happens are cut off otherwise.
    socket.setTimeout(0);
    reply.raw.once('close', end);
    this.#app.metrics.waiting.inc();
    try {
      return await this.#readAndWait(generation, waiter);
    } finally {
      this.#app.metrics.waiting.dec();
      reply.raw.off('close', end);
      socket.setTimeout(this.#app.server.timeout);
      clearTimeout(timer);
      watch.leave(waiter);
      this.#keepWhatWasShown(watch, waiter);
    }
  }

  async #readAndWait(generation: Generation, waiter: Waiter): Promise<boolean> {
    const { request, feed } = this.#following;
    this.#view = viewOf(this.#app, request, generation, this.#app.bounded);
    for (let waited = 0; ; waited += 1) {
      if (waited > 1) await sleep(BEHIND_MS);
      this.#page = await readChanges(this.#view, feed).catch(nothingWhileUnavailable);
      if (waiter.isOver || (this.#page !== null && this.#page.rows.length > 0)) return waited > 0;
      const { stamp, next } = this.#page ?? {};
      const known = next === undefined ? null : { position: next.seen, epochs: stamp?.epochs };
      await this.#app.admission.whileWaiting(request, waiter.moved(known));
      if (waiter.isOver) return true;
    }
  }

  /** The generation that answers; waits for one where there is none, and answers `null` where the time is over before. */
  async #generation(): Promise<Generation | null> {
    const { request, feed } = this.#following;
    for (;;) {
      try {
        return this.#app.generations.of(feed.environment);
      } catch (error) {
        if (!isUnavailable(error)) throw error;
      }
      const left = this.#until - performance.now();
      if (left <= 0 || request.raw.socket.destroyed || this.#app.isClosing()) return null;
      await this.#app.admission.whileWaiting(request, sleep(Math.min(left, NO_GENERATION_MS)));
    }
  }

  /** What nobody has seen change needs no read of its own, unless nobody could look. */
  #keepWhatWasShown(watch: Watch, { shown }: Waiter): void {
    if (this.#page === null || this.#page.rows.length > 0) return;
    if (!watch.isFresh || !watch.isCurrent) this.#page = null;
    else if (shown !== null && this.#page.stamp !== null) {
      const { timezone_offset: offset } = shown;
      const { timezone_offset: _before, ...stamp } = this.#page.stamp;
      this.#page.stamp = offset === undefined ? stamp : { ...stamp, timezone_offset: offset };
    }
  }

  async #body(): Promise<Buffer> {
    const { request, feed } = this.#following;
    if (this.#view !== null && this.#page !== null) return changesBody(this.#view, feed, this.#page);
    const view = viewOf(this.#app, request, this.#app.generations.of(feed.environment), this.#app.bounded);
    return changesBody(view, feed, await readChanges(view, feed));
  }
}

/** How often somebody who waits asks for a generation where there is none. */
const NO_GENERATION_MS = 250;

/** While MongoDB is away a wait goes on. */
function nothingWhileUnavailable(error: unknown): null {
  if (isUnavailable(error)) return null;
  throw error;
}
