/**
 * Decides which requests begin, wait or are refused, before the framework, tokens and quotas do any
 * work for them (decision 0047). `/health` always begins.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type Logger, RepeatedLines } from '#shared/logging.ts';
import type { QueryMetrics } from '../metrics.ts';
import { refuseOverloaded } from '../responses/send.ts';
import { UnreadAnswers } from './unread.ts';

/**
 * Requests in flight at a time: as many as MongoDB connections. While no more are in flight or
 * waiting, none is refused.
 */
export const MAX_IN_FLIGHT = 64;
/**
 * Of a sender that has half of all in flight, while others ask beside it and the event loop is
 * busy: as many keep it busy, and more would only delay the others.
 */
const MAX_BESIDE_OTHERS = 16;
/** So long after requests of two senders each of them has others beside it. */
const BESIDE_MS = 1_000;
/** The event loop is busy, if it worked for this share of the last window. */
const BUSY_SHARE = 0.7;
/** A token request, the only one with a body, is a few hundred bytes. */
export const MAX_BODY_BYTES = 16_384;
/**
 * Requests begun in one turn of the event loop also finish in one turn, which delays `/health` and
 * refusals.
 */
const MAX_BEGUN_PER_TURN = 16;
/** A request of a burst may wait three times the latency that an overload allows on average. */
const BURST_WAITS = 3;
/**
 * Overload: requests wait too long, and in the last window 1.25 times as many came as were begun.
 */
const OVERLOAD_RATIO = 1.25;
/** While requests come, their rates are measured and long waits are refused at this interval. */
const WINDOW_MS = 100;

export interface AdmittedRequest {
  request: IncomingMessage;
  response: ServerResponse;
  handler: RequestListener;
  sender: Sender;
  arrivedAt: number;
  /** How long it waited to begin. */
  queuedMs: number;
  /** How long it waited to continue, after what it waited for had happened. */
  resumedMs: number;
  isOver: boolean;
}

/** A request whose wait has ended. */
interface Woken {
  entry: AdmittedRequest;
  resume: () => void;
}

/**
 * A store, or the address of an unknown token: each gets an equal share. It is forgotten once it
 * has no requests.
 */
interface Sender {
  name: string;
  inFlight: number;
  queue: AdmittedRequest[];
  /**
   * They continue before others begin, and are never refused: a client that waited gets its answer.
   */
  woken: Woken[];
}

export interface AdmissionOptions {
  /** How long a request waits to begin, on average, during an overload. */
  latencyMs: number;
  senderOf: (request: IncomingMessage) => string;
  /** The share of the time since the last call that the event loop worked. */
  busyShare: () => number;
  metrics: QueryMetrics;
  logger: Logger;
}

export class Admission {
  readonly #options: AdmissionOptions;
  /**
   * The request whose handler is being called; `null` for `/health`. A map from request to entry
   * would cost a fifth of a cheap answer (decision 0047).
   */
  beginning: AdmittedRequest | null = null;
  begun = 0;
  readonly #inFlight = new Set<AdmittedRequest>();
  readonly #unread: UnreadAnswers;
  readonly #senders = new Map<string, Sender>();
  /** Senders with waiting requests; the first is next. */
  readonly #waiting = new Set<Sender>();
  #queued = 0;
  #isTurnEndScheduled = false;
  #begunInTurn = 0;
  #isWindowOpen = false;
  #askedInWindow = 0;
  #begunInWindow = 0;
  /** Requests that begin during the allowed latency, at the rate of the last window. */
  #begunInLatency = 0;
  #isOverloaded = false;
  #isBusy = false;
  /** The last sender, and when another one asked before it. */
  #lastSender = '';
  #changedAt = Number.NEGATIVE_INFINITY;
  #refusedAt = Number.NEGATIVE_INFINITY;
  readonly #refusals = new RepeatedLines();

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#unread = new UnreadAnswers(options.metrics);
    options.metrics.inFlightLimit.set(MAX_IN_FLIGHT);
  }

  before(handler: RequestListener): RequestListener {
    return (request, response) => {
      if (isHealth(request.url)) handler(request, response);
      else if (request.method === 'POST') this.#admitAfterBody(request, response, handler);
      else this.#admit(request, response, handler);
    };
  }

  /** A request takes no place while its client sends the body, which may be slow. */
  #admitAfterBody(
    request: IncomingMessage,
    response: ServerResponse,
    handler: RequestListener,
  ): void {
    const { 'transfer-encoding': coding, 'content-length': declared = 0 } = request.headers;
    const length = Number(declared);
    if (coding === undefined && (length === 0 || length > MAX_BODY_BYTES)) {
      this.#admit(request, response, handler);
      return;
    }
    const check = () => {
      // The framework refuses what is longer.
      if (!request.complete && request.readableLength <= MAX_BODY_BYTES) return;
      request.off('readable', check);
      this.#admit(request, response, handler);
    };
    request.on('readable', check);
  }

  #admit(request: IncomingMessage, response: ServerResponse, handler: RequestListener): void {
    const now = performance.now();
    if (!this.#isWindowOpen) this.#beginWindow(now);
    this.#askedInWindow += 1;
    const sender = this.#findSender(this.#options.senderOf(request));
    if (sender.name !== this.#lastSender) {
      if (this.#lastSender !== '') this.#changedAt = now;
      this.#lastSender = sender.name;
    }
    const entry = {
      request,
      response,
      handler,
      sender,
      arrivedAt: now,
      queuedMs: 0,
      resumedMs: 0,
      isOver: false,
    };
    if (this.#mayBeginNow(sender)) {
      this.#accept(entry);
      this.#begin(entry, now);
    } else if (this.#hasRoomToWait(sender, now)) {
      this.#accept(entry);
      this.#enqueue(entry);
    } else {
      this.#refuse(entry, now);
      this.#forgetIfIdle(sender);
    }
  }

  /**
   * Takes a request out of flight while it waits for something that costs nothing, such as a
   * change. Then it takes a place again, in turn: one change may wake all requests of a sender.
   */
  async whileWaiting<T>(entry: AdmittedRequest | null, wait: Promise<T>): Promise<T> {
    if (entry === null) return wait;
    this.#leave(entry);
    try {
      return await wait;
    } finally {
      const now = performance.now();
      await this.#takePlace(entry);
      entry.resumedMs += performance.now() - now;
    }
  }

  async #takePlace(entry: AdmittedRequest): Promise<void> {
    if (entry.isOver) return;
    // While the request waited, its sender may have been forgotten and made again.
    const sender = this.#findSender(entry.sender.name);
    entry.sender = sender;
    if (this.#mayBeginNow(sender)) {
      this.#enter(entry);
      return;
    }
    await new Promise<void>((resume) => {
      sender.woken.push({ entry, resume });
      this.#waiting.add(sender);
      this.#scheduleTurnEnd();
    });
  }

  #findSender(name: string): Sender {
    const sender = this.#senders.get(name) ?? { name, inFlight: 0, queue: [], woken: [] };
    this.#senders.set(name, sender);
    return sender;
  }

  #isWaiting({ queue, woken }: Sender): boolean {
    return queue.length > 0 || woken.length > 0;
  }

  #forgetIfIdle(sender: Sender): void {
    if (sender.inFlight === 0 && !this.#isWaiting(sender)) this.#senders.delete(sender.name);
  }

  #mayBeginNow(sender: Sender): boolean {
    return (
      this.#begunInTurn < MAX_BEGUN_PER_TURN && !this.#isWaiting(sender) && this.#canBegin(sender)
    );
  }

  #canBegin({ name, inFlight }: Sender): boolean {
    if (this.#isHeldBack(inFlight) || this.#unread.isFull(name, inFlight)) return false;
    return this.#inFlight.size < MAX_IN_FLIGHT || this.#isWithinShare(inFlight);
  }

  /** Whether a sender has so many in flight that others would wait for the event loop. */
  #isHeldBack(requests: number): boolean {
    return (
      requests >= MAX_BESIDE_OTHERS &&
      2 * requests >= this.#inFlight.size &&
      this.#isBusy &&
      performance.now() - this.#changedAt < BESIDE_MS
    );
  }

  /** A sender below its share does not wait for the slow requests of others, and is not refused. */
  #isWithinShare(requests: number): boolean {
    return this.#inFlight.size < 2 * MAX_IN_FLIGHT && requests < MAX_IN_FLIGHT / this.#senders.size;
  }

  /**
   * During an overload, as many requests may wait as begin during the allowed latency: by Little's
   * law they wait that long. The longest queue makes room for a sender with a shorter one.
   */
  #hasRoomToWait(sender: Sender, now: number): boolean {
    const isOverloaded = this.#isOverloaded || now - this.#refusedAt <= this.#options.latencyMs;
    if (!isOverloaded || !this.#areMany(1) || this.#queued < this.#begunInLatency) return true;
    if (this.#isWithinShare(sender.inFlight + sender.queue.length)) return true;
    let longest: Sender | null = null;
    for (const other of this.#waiting) {
      if (other.queue.length > (longest?.queue.length ?? sender.queue.length + 1)) longest = other;
    }
    const last = longest?.queue.pop();
    if (last === undefined) return false;
    this.#queued -= 1;
    if (!last.isOver) this.#refuse(last, now);
    return true;
  }

  #accept(entry: AdmittedRequest): void {
    entry.response.on('close', () => {
      entry.isOver = true;
      this.#leave(entry);
    });
  }

  #begin(entry: AdmittedRequest, now: number): void {
    entry.queuedMs = now - entry.arrivedAt;
    this.begun += 1;
    this.#begunInWindow += 1;
    this.#enter(entry);
    this.beginning = entry;
    try {
      entry.handler(entry.request, entry.response);
    } finally {
      this.beginning = null;
    }
  }

  #enqueue(entry: AdmittedRequest): void {
    entry.sender.queue.push(entry);
    this.#waiting.add(entry.sender);
    this.#queued += 1;
    this.#scheduleTurnEnd();
  }

  /** Takes the next request of a sender. */
  #dequeue(sender: Sender): AdmittedRequest | undefined {
    const entry = sender.queue.shift();
    if (entry !== undefined) this.#queued -= 1;
    return entry;
  }

  /** Continues or begins the next request of a sender, which becomes the last sender. */
  #serve(sender: Sender, now: number): void {
    const woken = sender.woken.shift();
    const entry = woken?.entry ?? this.#dequeue(sender);
    this.#waiting.delete(sender);
    if (this.#isWaiting(sender)) this.#waiting.add(sender);
    if (woken === undefined) {
      if (entry?.isOver === false) this.#begin(entry, now);
    } else {
      if (!woken.entry.isOver) this.#enter(woken.entry);
      woken.resume();
    }
    this.#forgetIfIdle(sender);
  }

  #scheduleTurnEnd(): void {
    if (this.#isTurnEndScheduled) return;
    this.#isTurnEndScheduled = true;
    setImmediate(() => this.#endTurn());
  }

  /** Continues and begins waiting requests, one of each sender in turn. */
  #endTurn(): void {
    const now = performance.now();
    this.#isTurnEndScheduled = false;
    this.#begunInTurn = 0;
    for (const sender of this.#waiting) {
      if (this.#begunInTurn >= MAX_BEGUN_PER_TURN) break;
      this.#refuseExpired(sender, now);
      if (this.#canBegin(sender)) this.#serve(sender, now);
    }
  }

  #refuseExpired(sender: Sender, now: number): void {
    // Requests that are only held back would be in flight without the others: none is refused.
    const isFew = ({ inFlight, queue }: Sender) =>
      this.#isHeldBack(inFlight) && inFlight + queue.length <= MAX_IN_FLIGHT;
    const hasExpired = ({ queue: [next] }: Sender) =>
      next !== undefined &&
      this.#areMany() &&
      now - next.arrivedAt > BURST_WAITS * this.#options.latencyMs;
    while (hasExpired(sender) && !isFew(sender)) {
      const entry = this.#dequeue(sender);
      if (entry?.isOver === false) this.#refuse(entry, now);
    }
    if (!this.#isWaiting(sender)) this.#waiting.delete(sender);
    this.#forgetIfIdle(sender);
  }

  /** Fewer requests are never refused: a long turn of the event loop is not overload. */
  #areMany(arriving = 0): boolean {
    return arriving + this.#inFlight.size + this.#queued > MAX_IN_FLIGHT;
  }

  #beginWindow(now: number): void {
    this.#isWindowOpen = true;
    this.#askedInWindow = 0;
    this.#begunInWindow = 0;
    setTimeout(() => this.#endWindow(now), WINDOW_MS).unref();
  }

  #endWindow(began: number): void {
    const now = performance.now();
    this.#isBusy = this.#options.busyShare() > BUSY_SHARE;
    const isLate = [...this.#waiting].some(
      ({ queue: [first] }) =>
        first !== undefined && now - first.arrivedAt > this.#options.latencyMs,
    );
    this.#isOverloaded = isLate && this.#askedInWindow > this.#begunInWindow * OVERLOAD_RATIO;
    this.#begunInLatency = Math.ceil(
      (this.#begunInWindow * this.#options.latencyMs) / (now - began),
    );
    for (const entry of this.#inFlight) {
      // The answer is made; only the client takes its time to read it.
      if (!entry.response.writableEnded && !entry.response.writableNeedDrain) continue;
      this.#leave(entry);
      this.#unread.add(entry.request, entry.response, entry.sender.name);
    }
    this.#unread.check(now);
    if (this.#waiting.size > 0) this.#scheduleTurnEnd();
    // No turn may follow while nothing ends.
    for (const sender of this.#waiting) this.#refuseExpired(sender, now);
    if (this.#senders.size + this.#unread.size > 0) this.#beginWindow(now);
    else this.#isWindowOpen = false;
  }

  #enter(entry: AdmittedRequest): void {
    this.#inFlight.add(entry);
    entry.sender.inFlight += 1;
    this.#begunInTurn += 1;
    this.#scheduleTurnEnd();
    this.#options.metrics.inFlight.set(this.#inFlight.size);
  }

  #leave(entry: AdmittedRequest): void {
    if (!this.#inFlight.delete(entry)) return;
    entry.sender.inFlight -= 1;
    this.#forgetIfIdle(entry.sender);
    this.#options.metrics.inFlight.set(this.#inFlight.size);
    if (this.#waiting.size > 0) this.#scheduleTurnEnd();
  }

  #refuse(entry: AdmittedRequest, now: number): void {
    entry.isOver = true;
    refuseOverloaded(entry.request, entry.response);
    this.#options.metrics.shedRequests.inc();
    this.#refusedAt = now;
    const leftOut = this.#refusals.say('overloaded', now);
    if (leftOut === null) return;
    this.#options.logger.warn(
      { refused: leftOut + 1 },
      'overloaded: requests that cannot be answered in time get 503',
    );
  }
}

function isHealth(target: string | undefined): boolean {
  return target === '/health' || target?.startsWith('/health?') === true;
}
