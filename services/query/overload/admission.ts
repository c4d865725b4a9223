/**
 * Decides which requests begin, wait or are refused, before the framework, tokens and quotas do any
 * work for them (decision 0047). `/health` always begins.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type Logger, repeatedLines } from '#shared/logging.ts';
import { getOrInsert } from '#shared/maps.ts';
import type { QueryMetrics } from '../metrics.ts';
import { refuseOverloaded } from '../responses/send.ts';
import { unreadAnswers } from './unread.ts';

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
  woken: (() => void)[];
}

interface AdmissionOptions {
  /** How long a request waits to begin, on average, during an overload. */
  latencyMs: number;
  senderOf: (request: IncomingMessage) => string;
  /** The share of the time since the last call that the event loop worked. */
  busyShare: () => number;
  metrics: QueryMetrics;
  logger: Logger;
}

export type Admission = ReturnType<typeof createAdmission>;

export function createAdmission({
  latencyMs,
  senderOf,
  busyShare,
  metrics,
  logger,
}: AdmissionOptions) {
  /**
   * The request whose handler is being called; `null` for `/health`. A map from request to entry
   * would cost a fifth of a cheap answer (decision 0047).
   */
  let beginning: AdmittedRequest | null = null;
  let begun = 0;
  const allInFlight = new Set<AdmittedRequest>();
  const unread = unreadAnswers(metrics);
  const senders = new Map<string, Sender>();
  /** Senders with waiting requests; the first is next. */
  const waiting = new Set<Sender>();
  let queued = 0;
  let isTurnEndScheduled = false;
  let begunInTurn = 0;
  let isWindowOpen = false;
  let askedInWindow = 0;
  let begunInWindow = 0;
  /** Requests that begin during the allowed latency, at the rate of the last window. */
  let begunInLatency = 0;
  let isOverloaded = false;
  let isBusy = false;
  /** The last sender, and when another one asked before it. */
  let lastSender = '';
  let changedAt = Number.NEGATIVE_INFINITY;
  let refusedAt = Number.NEGATIVE_INFINITY;
  const leftOutOf = repeatedLines();

  metrics.inFlightLimit.set(MAX_IN_FLIGHT);

  function before(handler: RequestListener): RequestListener {
    return (request, response) => {
      if (isHealth(request.url)) handler(request, response);
      else if (request.method === 'POST') admitAfterBody(request, response, handler);
      else admit(request, response, handler);
    };
  }

  /** A request takes no place while its client sends the body, which may be slow. */
  function admitAfterBody(
    request: IncomingMessage,
    response: ServerResponse,
    handler: RequestListener,
  ): void {
    const { 'transfer-encoding': coding, 'content-length': declared = 0 } = request.headers;
    const length = Number(declared);
    if (coding === undefined && (length === 0 || length > MAX_BODY_BYTES)) {
      admit(request, response, handler);
      return;
    }
    const check = () => {
      // The framework refuses what is longer.
      if (!request.complete && request.readableLength <= MAX_BODY_BYTES) return;
      request.off('readable', check);
      admit(request, response, handler);
    };
    request.on('readable', check);
  }

  function admit(
    request: IncomingMessage,
    response: ServerResponse,
    handler: RequestListener,
  ): void {
    const now = performance.now();
    if (!isWindowOpen) beginWindow(now);
    askedInWindow += 1;
    const sender = findSender(senderOf(request));
    if (sender.name !== lastSender) {
      if (lastSender !== '') changedAt = now;
      lastSender = sender.name;
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
    if (mayBeginNow(sender)) {
      accept(entry);
      begin(entry, now);
    } else if (hasRoomToWait(sender, now)) {
      accept(entry);
      enqueue(entry);
    } else {
      refuse(entry, now);
      forgetIfIdle(sender);
    }
  }

  /**
   * Takes a request out of flight while it waits for something that costs nothing, such as a
   * change. Then it takes a place again, in turn: one change may wake all requests of a sender.
   */
  async function whileWaiting<T>(entry: AdmittedRequest | null, wait: Promise<T>): Promise<T> {
    if (entry === null) return wait;
    leave(entry);
    try {
      return await wait;
    } finally {
      const now = performance.now();
      await takePlace(entry);
      entry.resumedMs += performance.now() - now;
    }
  }

  async function takePlace(entry: AdmittedRequest): Promise<void> {
    if (entry.isOver) return;
    // While the request waited, its sender may have been forgotten and made again.
    const sender = findSender(entry.sender.name);
    entry.sender = sender;
    if (mayBeginNow(sender)) {
      enter(entry);
      return;
    }
    await new Promise<void>((resume) => {
      sender.woken.push(() => {
        if (!entry.isOver) enter(entry);
        resume();
      });
      waiting.add(sender);
      scheduleTurnEnd();
    });
  }

  function findSender(name: string): Sender {
    return getOrInsert(senders, name, () => ({ name, inFlight: 0, queue: [], woken: [] }));
  }

  function isWaiting({ queue, woken }: Sender): boolean {
    return queue.length > 0 || woken.length > 0;
  }

  function forgetIfIdle(sender: Sender): void {
    if (sender.inFlight === 0 && !isWaiting(sender)) senders.delete(sender.name);
  }

  function mayBeginNow(sender: Sender): boolean {
    return begunInTurn < MAX_BEGUN_PER_TURN && !isWaiting(sender) && canBegin(sender);
  }

  function canBegin({ name, inFlight }: Sender): boolean {
    if (isHeldBack(inFlight) || unread.isFull(name, inFlight)) return false;
    return allInFlight.size < MAX_IN_FLIGHT || isWithinShare(inFlight);
  }

  /** Whether a sender has so many in flight that others would wait for the event loop. */
  function isHeldBack(requests: number): boolean {
    return (
      requests >= MAX_BESIDE_OTHERS &&
      2 * requests >= allInFlight.size &&
      isBusy &&
      performance.now() - changedAt < BESIDE_MS
    );
  }

  /** A sender below its share does not wait for the slow requests of others, and is not refused. */
  function isWithinShare(requests: number): boolean {
    return allInFlight.size < 2 * MAX_IN_FLIGHT && requests < MAX_IN_FLIGHT / senders.size;
  }

  /**
   * During an overload, as many requests may wait as begin during the allowed latency: by Little's
   * law they wait that long. The longest queue makes room for a sender with a shorter one.
   */
  function hasRoomToWait(sender: Sender, now: number): boolean {
    const isRefusing = isOverloaded || now - refusedAt <= latencyMs;
    if (!isRefusing || !areMany(1) || queued < begunInLatency) return true;
    if (isWithinShare(sender.inFlight + sender.queue.length)) return true;
    let longest: Sender | null = null;
    for (const other of waiting) {
      if (other.queue.length > (longest?.queue.length ?? sender.queue.length + 1)) longest = other;
    }
    const last = longest?.queue.pop();
    if (last === undefined) return false;
    queued -= 1;
    if (!last.isOver) refuse(last, now);
    return true;
  }

  function accept(entry: AdmittedRequest): void {
    entry.response.on('close', () => {
      entry.isOver = true;
      leave(entry);
    });
  }

  function begin(entry: AdmittedRequest, now: number): void {
    entry.queuedMs = now - entry.arrivedAt;
    begun += 1;
    begunInWindow += 1;
    enter(entry);
    beginning = entry;
    try {
      entry.handler(entry.request, entry.response);
    } finally {
      beginning = null;
    }
  }

  function enqueue(entry: AdmittedRequest): void {
    entry.sender.queue.push(entry);
    waiting.add(entry.sender);
    queued += 1;
    scheduleTurnEnd();
  }

  /** Takes the next request of a sender. */
  function dequeue(sender: Sender): AdmittedRequest | undefined {
    const entry = sender.queue.shift();
    if (entry !== undefined) queued -= 1;
    return entry;
  }

  /** Continues or begins the next request of a sender, which becomes the last sender. */
  function serve(sender: Sender, now: number): void {
    const resume = sender.woken.shift();
    const entry = resume === undefined ? dequeue(sender) : undefined;
    waiting.delete(sender);
    if (isWaiting(sender)) waiting.add(sender);
    resume?.();
    if (entry?.isOver === false) begin(entry, now);
    forgetIfIdle(sender);
  }

  function scheduleTurnEnd(): void {
    if (isTurnEndScheduled) return;
    isTurnEndScheduled = true;
    setImmediate(() => endTurn());
  }

  /** Continues and begins waiting requests, one of each sender in turn. */
  function endTurn(): void {
    const now = performance.now();
    isTurnEndScheduled = false;
    begunInTurn = 0;
    for (const sender of waiting) {
      if (begunInTurn >= MAX_BEGUN_PER_TURN) break;
      refuseExpired(sender, now);
      if (canBegin(sender)) serve(sender, now);
    }
  }

  function refuseExpired(sender: Sender, now: number): void {
    // Requests that are only held back would be in flight without the others: none is refused.
    const isFew = ({ inFlight, queue }: Sender) =>
      isHeldBack(inFlight) && inFlight + queue.length <= MAX_IN_FLIGHT;
    const hasExpired = ({ queue: [next] }: Sender) =>
      next !== undefined && areMany() && now - next.arrivedAt > BURST_WAITS * latencyMs;
    while (hasExpired(sender) && !isFew(sender)) {
      const entry = dequeue(sender);
      if (entry?.isOver === false) refuse(entry, now);
    }
    if (!isWaiting(sender)) waiting.delete(sender);
    forgetIfIdle(sender);
  }

  /** Fewer requests are never refused: a long turn of the event loop is not overload. */
  function areMany(arriving = 0): boolean {
    return arriving + allInFlight.size + queued > MAX_IN_FLIGHT;
  }

  function beginWindow(now: number): void {
    isWindowOpen = true;
    askedInWindow = 0;
    begunInWindow = 0;
    setTimeout(() => endWindow(now), WINDOW_MS).unref();
  }

  function endWindow(began: number): void {
    const now = performance.now();
    isBusy = busyShare() > BUSY_SHARE;
    const isLate = [...waiting].some(
      ({ queue: [first] }) => first !== undefined && now - first.arrivedAt > latencyMs,
    );
    isOverloaded = isLate && askedInWindow > begunInWindow * OVERLOAD_RATIO;
    begunInLatency = Math.ceil((begunInWindow * latencyMs) / (now - began));
    for (const entry of allInFlight) {
      // The answer is made; only the client takes its time to read it.
      if (!entry.response.writableEnded && !entry.response.writableNeedDrain) continue;
      leave(entry);
      unread.add(entry.request, entry.response, entry.sender.name);
    }
    unread.check(now);
    if (waiting.size > 0) scheduleTurnEnd();
    // No turn may follow while nothing ends.
    for (const sender of waiting) refuseExpired(sender, now);
    if (senders.size + unread.size > 0) beginWindow(now);
    else isWindowOpen = false;
  }

  function enter(entry: AdmittedRequest): void {
    allInFlight.add(entry);
    entry.sender.inFlight += 1;
    begunInTurn += 1;
    scheduleTurnEnd();
    metrics.inFlight.set(allInFlight.size);
  }

  function leave(entry: AdmittedRequest): void {
    if (!allInFlight.delete(entry)) return;
    entry.sender.inFlight -= 1;
    forgetIfIdle(entry.sender);
    metrics.inFlight.set(allInFlight.size);
    if (waiting.size > 0) scheduleTurnEnd();
  }

  function refuse(entry: AdmittedRequest, now: number): void {
    entry.isOver = true;
    refuseOverloaded(entry.request, entry.response);
    metrics.shedRequests.inc();
    refusedAt = now;
    const leftOut = leftOutOf('overloaded', now);
    if (leftOut === null) return;
    logger.warn(
      { refused: leftOut + 1 },
      'overloaded: requests that cannot be answered in time get 503',
    );
  }

  return {
    before,
    whileWaiting,
    get beginning() {
      return beginning;
    },
    get begun() {
      return begun;
    },
  };
}

function isHealth(target: string | undefined): boolean {
  return target === '/health' || target?.startsWith('/health?') === true;
}
