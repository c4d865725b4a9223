/** Random numbers that depend on the seed alone (xoshiro128**). */
export class Random {
  readonly #state: Uint32Array;

  constructor(seed: number) {
    let mixed = seed >>> 0;
    this.#state = Uint32Array.from({ length: 4 }, () => {
      // SplitMix32, so that neighbouring seeds give different numbers.
      mixed = (mixed + 0x9e3779b9) >>> 0;
      let z = mixed;
      z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
      z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
      return (z ^ (z >>> 15)) >>> 0;
    });
  }

  /** From 0 to below 1. */
  next(): number {
    const s = this.#state;
    const [a = 0, b = 0, c = 0, d = 0] = s;
    const scrambled = Math.imul(b, 5);
    const result = Math.imul((scrambled << 7) | (scrambled >>> 25), 9) >>> 0;
    s[2] = c ^ a;
    s[3] = d ^ b;
    s[1] = b ^ (s[2] ?? 0);
    s[0] = a ^ (s[3] ?? 0);
    s[2] = (s[2] ?? 0) ^ (b << 9);
    const last = s[3] ?? 0;
    s[3] = (last << 11) | (last >>> 21);
    return result / 2 ** 32;
  }

  /** A whole number from 0 to below `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** Whether something with this probability happens. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }

  /** Letters and digits. */
  id(length = 8): string {
    return Array.from({ length }, () => this.below(36).toString(36)).join('');
  }
}
