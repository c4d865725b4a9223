/**
 * Lets as many requests in as can be answered in time, and refuses the others at once, before anything is done for them: before
 * the framework, tokens and quotas (decision 0047). `/health` is always let in.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Logger } from '#shared/logging.ts';
import type { QueryMetrics } from '../metrics.ts';
import { InFlightLimit } from './in-flight-limit.ts';
import { refuse } from './refusal.ts';

/** How often the limit adapts. There is no timer: without requests there is nothing to do. */
const LOOK_MS = 50;
/** One line for what is refused meanwhile. */
const TOLD_EVERY_MS = 60_000;

/**
 * So many requests are begun at a time, the next ones after the event loop has seen to everything else. What is begun together comes back
 * together: otherwise refusals, `/health` and answers would wait for all of it.
 */
const BEGUN_TOGETHER = 16;
/** Fewer while requests are refused, and one more for so many of those: where refusing is most of the work, a turn is long however few are begun. */
const BEGUN_BESIDE_REFUSALS = 6;
const REFUSED_FOR_ONE = 4;

/** A request that was let in. */
interface Work {
  request: IncomingMessage;
  response: ServerResponse;
  handler: RequestListener;
  /** When it arrived, or went on after a wait. */
  since: number;
  /** For how long it waited to be begun. */
  queuedMs: number;
  isOver: boolean;
}

export class Admission {
  readonly #metrics: QueryMetrics;
  readonly #logger: Logger;
  readonly #limit: InFlightLimit;
  readonly #works = new WeakMap<IncomingMessage, Work>();
  readonly #inFlight = new Set<Work>();
  /** Those in flight that are not begun. */
  readonly #queue: Work[] = [];
  /** Of this turn of the event loop: whether its end is noted, how many requests may be begun, were begun and were refused. */
  #isUnderWay = false;
  #room = BEGUN_TOGETHER;
  #begun = 0;
  #refusedNow = 0;
  /** Since the last look. */
  #lookedAt = performance.now();
  #peak = 0;
  #asked = 0;
  #answers = 0;
  #answersMs = 0;
  /** Since it was told last. */
  #refused = 0;
  #toldAt = Number.NEGATIVE_INFINITY;

  /** @param latencyMs what answers may take. */
  constructor(latencyMs: number, metrics: QueryMetrics, logger: Logger) {
    this.#metrics = metrics;
    this.#logger = logger;
    this.#limit = new InFlightLimit(latencyMs);
    metrics.inFlightLimit.set(this.#limit.value);
  }

  /** Puts itself before what answers requests. */
  before(handler: RequestListener): RequestListener {
    return (request, response) => {
      if (isHealth(request.url)) {
        handler(request, response);
        return;
      }
      const now = performance.now();
      if (now - this.#lookedAt >= LOOK_MS) this.#look(now);
      if (!this.#isUnderWay) this.#beginTurn();
      this.#asked += 1;
      if (this.#inFlight.size >= this.#limit.value) {
        this.#refuse(request, response, now);
        return;
      }
      const work: Work = { request, response, handler, since: now, queuedMs: 0, isOver: false };
      this.#works.set(request, work);
      this.#enter(work);
      response.once('close', () => this.#end(work));
      if (this.#begun < this.#room) this.#begin(work);
      else this.#queue.push(work);
    };
  }

  /** For how many milliseconds a request waited to be begun. */
  queuedMs(request: IncomingMessage): number {
    return this.#works.get(request)?.queuedMs ?? 0;
  }

  /**
   * Waits for something that costs nothing, such as a change that may never come. Meanwhile the request is not in flight.
   * Afterwards it is, however many others are: it was let in.
   */
  async whileWaiting<T>({ raw }: FastifyRequest, wait: Promise<T>): Promise<T> {
    const work = this.#works.get(raw);
    if (work === undefined) return wait;
    this.#leave(work);
    try {
      return await wait;
    } finally {
      work.since = performance.now();
      if (!work.isOver) this.#enter(work);
    }
  }

  #begin(work: Work): void {
    this.#begun += 1;
    if (!work.isOver) work.handler(work.request, work.response);
  }

  #beginTurn(): void {
    this.#isUnderWay = true;
    setImmediate(() => this.#endTurn());
  }

  /** Begins in the next turn what waited for it. */
  #endTurn(): void {
    const now = performance.now();
    this.#room =
      this.#refusedNow === 0
        ? BEGUN_TOGETHER
        : Math.min(BEGUN_TOGETHER, BEGUN_BESIDE_REFUSALS + Math.floor(this.#refusedNow / REFUSED_FOR_ONE));
    this.#begun = 0;
    this.#refusedNow = 0;
    this.#isUnderWay = false;
    for (const work of this.#queue.splice(0, this.#room)) {
      work.queuedMs = now - work.since;
      this.#begin(work);
    }
    if (this.#begun > 0) this.#beginTurn();
  }

  #enter(work: Work): void {
    this.#inFlight.add(work);
    const { size } = this.#inFlight;
    this.#peak = Math.max(this.#peak, size);
    this.#metrics.inFlight.set(size);
  }

  #end(work: Work): void {
    work.isOver = true;
    this.#leave(work);
  }

  #leave(work: Work): void {
    if (!this.#inFlight.delete(work)) return;
    this.#answers += 1;
    this.#answersMs += performance.now() - work.since;
    this.#metrics.inFlight.set(this.#inFlight.size);
  }

  #look(now: number): void {
    for (const work of this.#inFlight) {
      // The rest is its client's affair: how soon it takes the answer.
      if (work.response.writableEnded || work.response.writableNeedDrain) this.#leave(work);
    }
    this.#limit.adapt({
      elapsedMs: now - this.#lookedAt,
      inFlight: this.#inFlight.size,
      peak: this.#peak,
      asked: this.#asked,
      answers: this.#answers,
      answerMs: this.#answersMs / this.#answers,
    });
    this.#metrics.inFlightLimit.set(this.#limit.value);
    this.#lookedAt = now;
    this.#peak = this.#inFlight.size;
    this.#asked = 0;
    this.#answers = 0;
    this.#answersMs = 0;
  }

  #refuse(request: IncomingMessage, response: ServerResponse, now: number): void {
    refuse(request, response);
    this.#metrics.shedRequests.inc();
    this.#refused += 1;
    this.#refusedNow += 1;
    if (now - this.#toldAt < TOLD_EVERY_MS) return;
    this.#logger.warn(
      { refused: this.#refused, limit: this.#limit.value },
      'overloaded: more is asked than can be answered in time, the rest is refused',
    );
    this.#refused = 0;
    this.#toldAt = now;
  }
}

function isHealth(target: string | undefined): boolean {
  return target === '/health' || target?.startsWith('/health?') === true;
}
