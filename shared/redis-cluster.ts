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
import { startPeriodicTask } from './periodic-task.ts';
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

export function createRedisCluster(
  seeds: readonly RedisNode[],
  connect: (node: RedisNode) => Connection,
): RedisMasters {
  const listeners: (() => void)[] = [];
  const nodes = new Map<string, Node>();
  let owners: readonly (Node | undefined)[] = [];
  let masters: readonly RedisMaster[] = [];
  let isClosed = false;
  /** The last error of a node. */
  let problem = 'it is not reached';

  const isReady = ({ redis }: { redis: Redis }) => redis.status === 'ready';
  const find = (key: string) => owners[slotOf(key)]?.master ?? undefined;
  const isWhole = () => owners.length === SLOTS && !owners.includes(undefined);

  async function follow(): Promise<number> {
    if (!nodes.values().some(isReady)) for (const seed of seeds) meet(seed);
    const known = new Map<string, RedisNode>();
    await Promise.all(
      [...nodes.values()].map(async (node) => {
        for (const [id, address] of await ask(node)) known.set(id, address);
      }),
    );
    if (known.size > 0 && keepKnown(known)) return POLL_MS;
    return isWhole() && masters.every(isReady) ? FOLLOW_MS : SEARCH_MS;
  }

  function meet({ host, port }: RedisNode): void {
    const address = `${host}:${port}`;
    if (isClosed || nodes.has(address)) return;
    const redis = connect({ host, port });
    const wake = () => following.wake();
    redis.on('ready', wake).on('close', wake).on('moved', wake);
    const reached = new Promise((resolve) => {
      redis.once('ready', resolve).once('close', resolve);
    });
    const met = Promise.race([reached, sleep(MEET_MS, undefined, { ref: false })]);
    nodes.set(address, { address, redis, met, id: null, claim: null, master: null });
  }

  function leave({ address, redis }: Node): void {
    nodes.delete(address);
    redis.disconnect();
  }

  /** Asks a node for its slots. @returns the nodes that it knows; none if it is away. */
  async function ask(node: Node): Promise<ReadonlyMap<string, RedisNode>> {
    await node.met;
    try {
      const view = readClusterNodes(String(await node.redis.cluster('NODES')));
      node.id = view.id;
      if (!isDeepStrictEqual(view.claim, node.claim)) {
        node.claim = view.claim;
        assign();
      }
      return view.nodes;
    } catch (error) {
      problem = describeError(error);
      return new Map();
    }
  }

  /** Keeps known nodes, leaves others, and meets new ones. @returns whether there is a new one. */
  function keepKnown(known: ReadonlyMap<string, RedisNode>): boolean {
    const before = nodes.size;
    const kept = new Map<string, Node>();
    const addresses = new Set([...known.values()].map(({ host, port }) => `${host}:${port}`));
    for (const node of nodes.values()) {
      const isKnown = node.id === null ? addresses.has(node.address) : known.has(node.id);
      const id = node.id ?? node.address;
      const isMoved = !isReady(node) && !addresses.has(node.address);
      if (isKnown && !isMoved && !kept.has(id)) kept.set(id, node);
      else leave(node);
    }
    if (nodes.size < before) assign();
    for (const [id, address] of known) if (!kept.has(id)) meet(address);
    return nodes.size > kept.size;
  }

  /** Gives each slot to the node that claims it with the highest epoch. */
  function assign(): void {
    const claimed: (Node | undefined)[] = Array.from({ length: SLOTS });
    for (const node of nodes.values()) {
      const { epoch, ranges } = node.claim ?? NO_CLAIM;
      for (const [first, last] of ranges) {
        for (let slot = first; slot <= last; slot += 1) {
          if ((claimed[slot]?.claim ?? NO_CLAIM).epoch < epoch) claimed[slot] = node;
        }
      }
    }
    owners = claimed;
    for (const node of nodes.values()) {
      const slots = rangesOf(owners, node);
      if (slots !== (node.master?.slots ?? ''))
        node.master = slots === '' ? null : masterAt(node, slots);
    }
    const found = [...nodes.values()].flatMap(({ master }) => master ?? []);
    const isSame =
      found.length === masters.length && found.every((master, index) => master === masters[index]);
    if (isSame) return;
    // Another list only where masters are others: a reconciliation compares the lists themselves.
    masters = found;
    for (const listener of listeners) listener();
  }

  function masterAt(node: Node, slots: string): RedisMaster {
    const tag = tagOf(owners.indexOf(node));
    const master: RedisMaster = {
      redis: node.redis,
      slots,
      local: (prefix) => `${prefix}:{${tag}}`,
      owns: (key) => find(key) === master,
      find: (key) => (master.owns(key) ? master : undefined),
    };
    return master;
  }

  const following = startPeriodicTask({ run: follow, everyMs: FOLLOW_MS });
  return {
    all: () => masters,
    find,
    isWhole,
    refusal() {
      const refusals = nodes.values().map(({ redis }) => redis.refusal);
      return refusals.find((refusal) => refusal !== null) ?? null;
    },
    onChange: (listener) => void listeners.push(listener),
    async ready(timeoutMs) {
      const end = performance.now() + timeoutMs;
      while (!isWhole() || !masters.every(isReady)) {
        if (performance.now() > end) {
          if (masters.some(isReady)) return;
          throw new Error(`no master of the Redis cluster is ready: ${problem}`);
        }
        await sleep(POLL_MS);
      }
    },
    disconnect() {
      isClosed = true;
      void following.stop();
      for (const node of nodes.values()) leave(node);
    },
  };
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

/** Of a node that is no master. */
const NO_CLAIM: Claim = { epoch: -1, ranges: [] };

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
