/** A semaphore for work that takes memory: so many at a time, and so many of them for one key. */

interface Waiter {
  key: string;
  begin: () => void;
}

export class Slots {
  readonly #most: number;
  readonly #mostOfOne: number;
  /** The key of each slot that is taken. */
  readonly #taken: string[] = [];
  readonly #waiting: Waiter[] = [];

  constructor(most: number, mostOfOne: number) {
    this.#most = most;
    this.#mostOfOne = mostOfOne;
  }

  /**
   * Waits for a slot. Those of other keys overtake one whose key has all of its own.
   * @returns what gives it back; calling it again changes nothing.
   * @throws the signal's reason when it is aborted before.
   */
  async take(key: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const { promise, resolve: begin, reject } = Promise.withResolvers<void>();
    const waiter = { key, begin };
    const giveUp = () => {
      remove(this.#waiting, waiter);
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', giveUp, { once: true });
    this.#waiting.push(waiter);
    this.#beginNext();
    await promise.finally(() => signal.removeEventListener('abort', giveUp));
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      remove(this.#taken, key);
      this.#beginNext();
    };
  }

  /** The slot is taken when the turn comes. */
  #beginNext(): void {
    const next = this.#waiting.find(({ key }) => this.#isFree(key));
    if (next === undefined) return;
    remove(this.#waiting, next);
    this.#taken.push(next.key);
    next.begin();
  }

  #isFree(key: string): boolean {
    const ofKey = this.#taken.filter((taken) => taken === key);
    return this.#taken.length < this.#most && ofKey.length < this.#mostOfOne;
  }
}

function remove<T>(list: T[], item: T): void {
  const at = list.indexOf(item);
  if (at !== -1) list.splice(at, 1);
}
