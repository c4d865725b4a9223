/**
 * The gates before Redis: one for the only server, or one for each master of a cluster. While one of them is closed, the stores of the
 * others are served (decision 0045).
 */
import { type RedisMaster, type RedisMasters, slotUnassigned } from '#shared/redis-masters.ts';
import { type GateOptions, type Permit, RedisGate } from './redis-gate.ts';

export class RedisGates {
  readonly #options: Omit<GateOptions, 'master' | 'changed'>;
  readonly #masters: RedisMasters;
  #gates: ReadonlyMap<RedisMaster, RedisGate> = new Map();

  constructor(masters: RedisMasters, options: Omit<GateOptions, 'master' | 'changed'>) {
    this.#options = options;
    this.#masters = masters;
    masters.onChange(() => this.#follow());
    this.#follow();
  }

  /** Resolves after the first attempt to open each gate whose server is connected, whether or not it succeeded. */
  async firstAttempts(): Promise<void> {
    const reached = [...this.#gates].filter(([{ redis }]) => redis.status === 'ready');
    await Promise.all(reached.map(([, { firstAttempt }]) => firstAttempt));
  }

  acquire(key: string): Permit {
    const master = this.#masters.find(key);
    const gate = master === undefined ? undefined : this.#gates.get(master);
    if (gate === undefined) throw slotUnassigned();
    return gate.acquire();
  }

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

  /** A master that holds other slots than before is another one: nothing is known of what it holds now. */
  #follow(): void {
    const before = this.#gates;
    this.#gates = new Map(
      this.#masters
        .all()
        .map((master) => [
          master,
          before.get(master) ?? new RedisGate({ ...this.#options, master, changed: () => this.#tell() }),
        ]),
    );
    for (const [master, gate] of before) if (!this.#gates.has(master)) void gate.stop();
    this.#tell();
  }

  #tell(): void {
    const areOpen = [...this.#gates.values()].every(({ isOpen }) => isOpen);
    this.#options.metrics.redisGateOpen.set(this.#masters.isWhole() && areOpen ? 1 : 0);
  }
}
