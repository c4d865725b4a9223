/**
 * The gates before Redis: one for the only server, or one for each master of a cluster. While one of them is closed, the stores of the others
 * are served (decision 0067).
 */
import type { RedisMaster, RedisMasters } from '#shared/redis-masters.ts';
import { nobodyHolds } from '#shared/redis-masters.ts';
import type { Reconciling } from './reconciling.ts';
import { type Passage, RedisGate } from './redis-gate.ts';

export class RedisGates {
  readonly #options: Omit<Reconciling, 'master'>;
  readonly #masters: RedisMasters;
  #gates: ReadonlyMap<RedisMaster, RedisGate> = new Map();
  /** Sessions of the last moment of masters that are gone, for which nobody has taken over yet. */
  #unproven: readonly string[] = [];

  constructor(masters: RedisMasters, options: Omit<Reconciling, 'master'>) {
    this.#options = options;
    this.#masters = masters;
    masters.onChange(() => this.#follow());
    this.#follow();
  }

  /** Resolves when it was tried to open each of those whose server is reached for the first time, whatever came of it. */
  async firstAttempts(): Promise<void> {
    const reached = [...this.#gates].filter(([{ redis }]) => redis.status === 'ready');
    await Promise.all(reached.map(([, { firstAttempt }]) => firstAttempt));
  }

  /**
   * Lets a request through to the server that holds a key.
   * @throws {StoreDataError} `environment_unavailable` while its gate is closed.
   */
  enter(key: string): Passage {
    const gate = this.#find(key);
    if (gate === undefined) throw nobodyHolds();
    return gate.enter();
  }

  #find(key: string): RedisGate | undefined {
    const master = this.#masters.findMaster(key);
    return master === undefined ? undefined : this.#gates.get(master);
  }

  /** Whether a server answers to which requests are let through. */
  async isAnyAnswering(): Promise<boolean> {
    const open = [...this.#gates].filter(([, gate]) => gate.isOpen);
    return Promise.any(open.map(([{ redis }]) => redis.ping())).then(
      () => true,
      () => false,
    );
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#gates.values()].map((gate) => gate.stop()));
  }

  /**
   * A master that holds other slots than before is another one: nothing is known of what it holds now. Sessions that were given away at the
   * last moment of the former one are ended, as they are where one server becomes another.
   */
  #follow(): void {
    const before = this.#gates;
    const gates = new Map<RedisMaster, RedisGate>();
    for (const master of this.#masters.all()) {
      const gate =
        before.get(master) ?? new RedisGate({ ...this.#options, master, changed: () => this.#tell() });
      gates.set(master, gate);
    }
    this.#gates = gates;
    const gone = [...before].filter(([master]) => !gates.has(master)).map(([, gate]) => gate);
    const unproven = [...this.#unproven, ...gone.flatMap((gate) => gate.unproven)];
    for (const gate of gone) void gate.stop();
    this.#unproven = unproven.filter((name) => this.#find(name) === undefined);
    for (const name of unproven) this.#find(name)?.doubt(name);
    this.#tell();
  }

  #tell(): void {
    const areOpen = [...this.#gates.values()].every(({ isOpen }) => isOpen);
    this.#options.metrics.redisGateOpen.set(this.#masters.isWhole() && areOpen ? 1 : 0);
  }
}
