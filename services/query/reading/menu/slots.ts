/** A semaphore for work that takes memory: so many at a time, and so many of them for one key. */

interface Waiter {
  key: string;
  begin: () => void;
}

export class Slots {
  readonly #most: number;
  readonly #mostOfOne: number;
  readonly #taken = new Map<string, number>();
  #total = 0;
  #waiting: Waiter[] = [];

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
    if (!this.#isFree(key)) await this.#turn(key, signal);
    else this.#count(key, 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#count(key, -1);
      this.#beginNext();
    };
  }

  /** The slot is counted when the turn comes. */
  #turn(key: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        key,
        begin: () => {
          signal.removeEventListener('abort', giveUp);
          resolve();
        },
      };
      const giveUp = () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiter);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.push(waiter);
    });
  }

  #beginNext(): void {
    const next = this.#waiting.find(({ key }) => this.#isFree(key));
    if (next === undefined) return;
    this.#waiting = this.#waiting.filter((other) => other !== next);
    this.#count(next.key, 1);
    next.begin();
  }

  #isFree(key: string): boolean {
    return this.#total < this.#most && (this.#taken.get(key) ?? 0) < this.#mostOfOne;
  }

  #count(key: string, by: 1 | -1): void {
    const taken = (this.#taken.get(key) ?? 0) + by;
    if (taken === 0) this.#taken.delete(key);
    else this.#taken.set(key, taken);
    this.#total += by;
  }
}
