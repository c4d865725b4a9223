/** Slots for work that takes much memory or time: so many in all, and so many of one store. */
import { unavailable } from '#shared/errors.ts';
import type { WithDeadline } from '../deadline.ts';

/** How far a client may be behind a rate of reading before its slot goes to another store. */
const PATIENCE_MS = 1_000;
const BYTES_A_MS = 1_048_576 / 1_000;
const CHECK_MS = 100;

export interface Slot {
  readonly key: string;
  /** Whose client decides how long it is held. */
  stream?: { slownessMs: () => number; destroy: (reason: Error) => void };
  /** May be called twice. */
  release: () => void;
}

/** Takes a slot; without a free one, waits with the semaphore's deadline. */
export type TakeSlot = (key: string) => Promise<Slot>;

/**
 * A semaphore with a limit in all and one for each key. A waiter whose key is at its limit lets
 * others overtake. For any other waiter the slowest stream of another key ends, if its client is
 * too slow.
 */
export function semaphore(max: number, maxOfOne: number, withDeadline: WithDeadline): TakeSlot {
  const taken = new Set<Slot>();
  const waiting = new Set<{ key: string; begin: () => void }>();
  const isAtLimit = (key: string) =>
    [...taken].filter((slot) => slot.key === key).length >= maxOfOne;
  const take = (key: string): Slot => {
    const release = () => {
      if (taken.delete(slot)) beginNext();
    };
    const slot: Slot = { key, release };
    taken.add(slot);
    return slot;
  };
  const beginNext = () => {
    for (const waiter of waiting) {
      if (taken.size >= max) return;
      if (isAtLimit(waiter.key)) continue;
      waiting.delete(waiter);
      waiter.begin();
    }
  };
  const cutSlowest = (key: string) => {
    if (taken.size < max || isAtLimit(key)) return;
    const [slowest] = [...taken]
      .flatMap(({ key: of, stream, release }) =>
        of === key || stream === undefined
          ? []
          : { stream, release, slownessMs: stream.slownessMs() },
      )
      .toSorted((one, other) => other.slownessMs - one.slownessMs);
    if (slowest === undefined || slowest.slownessMs < PATIENCE_MS) return;
    slowest.stream.destroy(
      unavailable('the client read its answer too slowly while other stores waited'),
    );
    slowest.release();
  };
  const waitFor = async (key: string, signal: AbortSignal): Promise<Slot> => {
    const { promise, resolve, reject } = Promise.withResolvers<Slot>();
    const waiter = { key, begin: () => resolve(take(key)) };
    waiting.add(waiter);
    const giveUp = () => {
      waiting.delete(waiter);
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', giveUp, { once: true });
    beginNext();
    const check = setInterval(cutSlowest, CHECK_MS, key);
    try {
      return await promise;
    } finally {
      clearInterval(check);
    }
  };
  return async (key) =>
    taken.size < max && !isAtLimit(key)
      ? take(key)
      : withDeadline((signal) => waitFor(key, signal));
}

/**
 * Passes portions on, and measures by how much their reader is behind: only the time that it lets
 * them wait counts.
 */
export function measured(portions: AsyncIterable<Buffer>) {
  let allowedMs = 0;
  let waitedMs = 0;
  // A stream waits before its first read too.
  let waitsSince: number | null = performance.now();
  const waitMs = () => (waitsSince === null ? 0 : performance.now() - waitsSince);
  const endWait = () => {
    waitedMs += waitMs();
    waitsSince = null;
  };
  const passOn = async function* () {
    endWait();
    for await (const portion of portions) {
      waitsSince = performance.now();
      yield portion;
      endWait();
      allowedMs += portion.length / BYTES_A_MS;
    }
  };
  return { portions: passOn(), slownessMs: () => waitedMs + waitMs() - allowedMs };
}
