/** How long to wait for a client. On a machine that has other work, too, only the time counts that it would have taken alone. */
export class Patience {
  #leftMs: number;

  constructor(seconds: number) {
    this.#leftMs = seconds * 1_000;
  }

  get isOver(): boolean {
    return this.#leftMs <= 0;
  }

  /** @param slowness how many times as long computing took meanwhile. */
  spend(milliseconds: number, slowness: number): void {
    this.#leftMs -= milliseconds / slowness;
  }
}

const WORK_MS = 20;

/** How many times as long computing takes now as alone, since other processes want the processors as well. */
export function measureSlowness(): number {
  const began = performance.now();
  const before = process.threadCpuUsage();
  let computedMs = 0;
  while (computedMs < WORK_MS) {
    const { user, system } = process.threadCpuUsage(before);
    computedMs = (user + system) / 1_000;
  }
  return Math.max(1, (performance.now() - began) / computedMs);
}
