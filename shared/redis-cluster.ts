/**
 * The masters of a Redis cluster. Each node is polled for its own slots; its list of others only
 * serves to find them. A command goes to the node that holds its key. If that does not answer in
 * time, the command fails and is sent nowhere else (decision 0045).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import slotOf from 'cluster-key-slot';
import type { Redis } from 'ioredis';
import { describeError } from './errors.ts';
import { PeriodicTask } from './periodic-task.ts';
import type { RedisNode } from './address.ts';
import type { RedisMaster, RedisMasters } from './redis-masters.ts';

/** How often nodes are polled: while every slot has a reachable master, and otherwise. */
const FOLLOW_MS = 1_000;
const SEARCH_MS = 100;
/** How soon newly found nodes are polled, and how often readiness is checked. */
const POLL_MS = 10;
/**
 * The longest wait for a new node before the others are polled again: a node that loads its data
 * neither connects nor fails.
 */
const MEET_MS = 1_000;

type Connection = Redis & { refusal: string | null };

interface Node {
  address: string;
  redis: Connection;
  /** Resolves once it is connected, has failed, or takes too long. */
  met: Promise<unknown>;
  id: string | null;
  /** Its last answer. A node that is away keeps its slots until another one claims them. */
  claim: Claim | null;
  master: RedisMaster | null;
}

export class RedisCluster implements RedisMasters {
  readonly #seeds: readonly RedisNode[];
  readonly #connect: (node: RedisNode) => Connection;
  readonly #following: PeriodicTask;
  readonly #listeners: (() => void)[] = [];
  readonly #nodes = new Map<string, Node>();
  #owners: readonly (Node | undefined)[] = [];
  #masters: readonly RedisMaster[] = [];
  #isClosed = false;
  /** The last error of a node. */
  #problem = 'it is not reached';

  constructor(seeds: readonly RedisNode[], connect: (node: RedisNode) => Connection) {
    this.#seeds = seeds;
    this.#connect = connect;
    this.#following = new PeriodicTask({ run: () => this.#follow(), everyMs: FOLLOW_MS });
  }

  all(): readonly RedisMaster[] {
    return this.#masters;
  }

  find(key: string): RedisMaster | undefined {
    return this.#owners[slotOf(key)]?.master ?? undefined;
  }

  isWhole(): boolean {
    return this.#owners.length === SLOTS && !this.#owners.includes(undefined);
  }

  refusal(): string | null {
    const refusals = this.#nodes.values().map(({ redis }) => redis.refusal);
    return refusals.find((refusal) => refusal !== null) ?? null;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async ready(timeoutMs: number): Promise<void> {
    const isReady = ({ redis }: RedisMaster) => redis.status === 'ready';
    const end = performance.now() + timeoutMs;
    while (!this.isWhole() || !this.#masters.every(isReady)) {
      if (performance.now() > end) {
        if (this.#masters.some(isReady)) return;
        throw new Error(`no master of the Redis cluster is ready: ${this.#problem}`);
      }
      await sleep(POLL_MS);
    }
  }

  disconnect(): void {
    this.#isClosed = true;
    void this.#following.stop();
    for (const node of this.#nodes.values()) this.#leave(node);
  }

  async #follow(): Promise<number> {
    const isAnyReady = this.#nodes.values().some(({ redis }) => redis.status === 'ready');
    if (!isAnyReady) for (const seed of this.#seeds) this.#meet(seed);
    const known = new Map<string, RedisNode>();
    await Promise.all(
      [...this.#nodes.values()].map(async (node) => {
        for (const [id, address] of await this.#ask(node)) known.set(id, address);
      }),
    );
    if (known.size > 0 && this.#keepKnown(known)) return POLL_MS;
    const isServed = this.isWhole() && this.#masters.every(({ redis }) => redis.status === 'ready');
    return isServed ? FOLLOW_MS : SEARCH_MS;
  }

  #meet({ host, port }: RedisNode): void {
    const address = `${host}:${port}`;
    if (this.#isClosed || this.#nodes.has(address)) return;
    const redis = this.#connect({ host, port });
    const wake = () => this.#following.wake();
    redis.on('ready', wake).on('close', wake).on('moved', wake);
    const reached = new Promise((resolve) => {
      redis.once('ready', resolve).once('close', resolve);
    });
    const met = Promise.race([reached, sleep(MEET_MS, undefined, { ref: false })]);
    this.#nodes.set(address, { address, redis, met, id: null, claim: null, master: null });
  }

  #leave(node: Node): void {
    this.#nodes.delete(node.address);
    node.redis.disconnect();
  }

  /** Asks a node for its slots. @returns the nodes that it knows; none if it is away. */
  async #ask(node: Node): Promise<ReadonlyMap<string, RedisNode>> {
    await node.met;
    try {
      const { id, claim, nodes } = readClusterNodes(String(await node.redis.cluster('NODES')));
      node.id = id;
      if (!isDeepStrictEqual(claim, node.claim)) {
        node.claim = claim;
        this.#assign();
      }
      return nodes;
    } catch (error) {
      this.#problem = describeError(error);
      return new Map();
    }
  }

  /** Keeps known nodes, leaves others, and meets new ones. @returns whether there is a new one. */
  #keepKnown(known: ReadonlyMap<string, RedisNode>): boolean {
    const before = this.#nodes.size;
    const kept = new Map<string, Node>();
    const addresses = new Set([...known.values()].map(({ host, port }) => `${host}:${port}`));
    for (const node of this.#nodes.values()) {
      const isKnown = node.id === null ? addresses.has(node.address) : known.has(node.id);
      const id = node.id ?? node.address;
      const isMoved = node.redis.status !== 'ready' && !addresses.has(node.address);
      if (isKnown && !isMoved && !kept.has(id)) kept.set(id, node);
      else this.#leave(node);
    }
    if (this.#nodes.size < before) this.#assign();
    for (const [id, address] of known) if (!kept.has(id)) this.#meet(address);
    return this.#nodes.size > kept.size;
  }

  /** Gives each slot to the node that claims it with the highest epoch. */
  #assign(): void {
    const owners: (Node | undefined)[] = Array.from({ length: SLOTS });
    for (const node of this.#nodes.values()) {
      for (const [first, last] of node.claim?.ranges ?? []) {
        for (let slot = first; slot <= last; slot += 1) {
          if ((owners[slot]?.claim?.epoch ?? -1) < (node.claim?.epoch ?? -1)) owners[slot] = node;
        }
      }
    }
    this.#owners = owners;
    for (const node of this.#nodes.values()) {
      const slots = rangesOf(owners, node);
      if (slots !== (node.master?.slots ?? ''))
        node.master = slots === '' ? null : this.#masterAt(node, slots);
    }
    const masters = [...this.#nodes.values()].flatMap(({ master }) => master ?? []);
    const isSame =
      masters.length === this.#masters.length &&
      masters.every((master, index) => master === this.#masters[index]);
    if (isSame) return;
    this.#masters = masters;
    for (const listener of this.#listeners) listener();
  }

  #masterAt(node: Node, slots: string): RedisMaster {
    const tag = tagOf(this.#owners.indexOf(node));
    const master: RedisMaster = {
      redis: node.redis,
      slots,
      local: (prefix) => `${prefix}:{${tag}}`,
      owns: (key) => this.find(key) === master,
      find: (key) => (master.owns(key) ? master : undefined),
    };
    return master;
  }
}

function rangesOf(owners: readonly (Node | undefined)[], node: Node): string {
  const ranges: string[] = [];
  for (let first = owners.indexOf(node); first !== -1;) {
    let next = first;
    while (owners[next] === node) next += 1;
    ranges.push(`${first}-${next - 1}`);
    first = owners.indexOf(node, next);
  }
  return ranges.join();
}

export interface Claim {
  /** If two nodes claim a slot, the one with the higher epoch has it. */
  epoch: number;
  ranges: readonly (readonly [first: number, last: number])[];
}

const LINE =
  /^(?<id>\S+) (?<host>\S*):(?<port>\d+)(?:@\d+)?(?:,(?<name>[^\s,]*)\S*)? (?<flags>\S+) \S+ \S+ \S+ (?<epoch>\d+) \S+(?<slots>.*)$/;

export function readClusterNodes(text: string) {
  const nodes = new Map<string, RedisNode>();
  /** Without a claim if it is not a master. */
  let view: { id: string; claim: Claim | null } | null = null;
  for (const line of text.split('\n')) {
    const {
      id = '',
      host = '',
      port,
      name = '',
      flags = '',
      epoch,
      slots = '',
    } = LINE.exec(line)?.groups ?? {};
    const is = (flag: string) => flags.split(',').includes(flag);
    if (is('myself')) {
      view = { id, claim: is('master') ? { epoch: Number(epoch), ranges: rangesIn(slots) } : null };
    }
    // A node announces a name if clients should use it, as certificates may require.
    if ((name || host) !== '' && !is('noaddr') && !is('handshake')) {
      nodes.set(id, { host: name || host, port: Number(port) });
    }
  }
  if (view === null) throw new Error('the server that answers is not a node of a Redis cluster');
  return { ...view, nodes };
}

/** Without slots that are being moved, which stand in brackets: until then the owner stays. */
function rangesIn(slots: string): [number, number][] {
  return [...slots.matchAll(/ (\d+)(?:-(\d+))?(?= |$)/g)].map(([, first, last = first]) => [
    Number(first),
    Number(last),
  ]);
}

const SLOTS = 16_384;

/** A hash tag that leads to a slot. */
export function tagOf(slot: number): string {
  for (let number = 0; ; number += 1) if (slotOf(String(number)) === slot) return String(number);
}
