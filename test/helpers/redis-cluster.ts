/** A cluster of three masters and a replica of each, as processes of one test. */
import { createServer } from 'node:net';
import type { Redis } from 'ioredis';
import { freePorts } from '#local/stack/program/ports.ts';
import { slotOf } from '#shared/redis-cluster/slot.ts';
import { eventually } from './installation.ts';
import { openRedisHome, type RedisProcess, startRedisProcess } from './redis-process.ts';

export interface ClusterShard {
  master: RedisProcess;
  replica: RedisProcess;
  /** Whether a key lies here. */
  holds: (key: string) => boolean;
}

export interface RedisClusterProcesses {
  /** As `REDIS_URL` takes it: two of the six nodes. */
  url: string;
  /** Three. */
  shards: readonly ClusterShard[];
  close: () => Promise<void>;
}

const SLOTS = [
  [0, 5_460],
  [5_461, 10_922],
  [10_923, 16_383],
] as const;
/** A busy machine's server does not answer for a while, and shall not be replaced for that. */
const NODE_TIMEOUT_MS = 3_000;

const SETTINGS = [
  ['--cluster-enabled', 'yes'],
  ['--cluster-node-timeout', String(NODE_TIMEOUT_MS)],
  // However long ago a replica was cut off, it takes over.
  ['--cluster-replica-validity-factor', '0'],
  // While a master is away, the others serve what they have.
  ['--cluster-require-full-coverage', 'no'],
].flat();

export async function startRedisCluster(): Promise<RedisClusterProcesses> {
  const home = await openRedisHome();
  const ports = await freePortsOfNodes(6);
  const nodes = await Promise.all(ports.map((port) => startRedisProcess(SETTINGS, { home, port })));
  const [masters, replicas] = [nodes.slice(0, 3), nodes.slice(3)];
  // Epochs of their own from the beginning on, so that none has to be agreed upon.
  await Promise.all(nodes.map(({ client }, index) => client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)));
  for (const [index, { client }] of masters.entries()) {
    const [first, last] = SLOTS[index] ?? [0, 0];
    const slots = Array.from({ length: last - first + 1 }, (_, offset) => first + offset);
    await client.cluster('ADDSLOTS', ...slots);
  }
  for (const { client } of nodes) {
    for (const port of ports) await client.cluster('MEET', '127.0.0.1', port);
  }
  await everyOne(nodes, 'all know one another', async (client) => {
    const lines = (await nodesKnownTo(client)).trim().split('\n');
    return lines.length === nodes.length && lines.every((line) => !line.includes('handshake'));
  });
  for (const [index, { client }] of replicas.entries()) {
    await client.cluster('REPLICATE', String(await masters[index]?.client.cluster('MYID')));
  }
  await everyOne(nodes, 'the cluster serves', async (client) => {
    const isOk = (await client.cluster('INFO')).includes('cluster_state:ok');
    return isOk && (await nodesKnownTo(client)).match(/slave /g)?.length === 3;
  });
  await everyOne(replicas, 'replicas follow', async (client) =>
    (await client.info('replication')).includes('master_link_status:up'),
  );
  const shards = SLOTS.map(([first, last], index) => {
    const [master, replica] = [masters[index], replicas[index]];
    if (master === undefined || replica === undefined) throw new Error('a node is missing');
    return { master, replica, holds: (key: string) => first <= slotOf(key) && slotOf(key) <= last };
  });
  return {
    url: `redis+cluster://${ports
      .slice(0, 2)
      .map((port) => `127.0.0.1:${port}`)
      .join()}`,
    shards,
    async close() {
      await Promise.all(nodes.map((node) => node.close()));
      await home.close();
    },
  };
}

async function nodesKnownTo(client: Redis): Promise<string> {
  return String(await client.cluster('NODES'));
}

async function everyOne(
  nodes: readonly RedisProcess[],
  what: string,
  check: (client: Redis) => Promise<boolean>,
): Promise<void> {
  for (const { client } of nodes) await eventually(what, () => check(client));
}

/** Ports whose neighbours 10,000 above are free too: there the nodes talk to one another. */
async function freePortsOfNodes(count: number): Promise<number[]> {
  const found: number[] = [];
  while (found.length < count) {
    const [port = 0] = await freePorts(1);
    if (port <= 55_535 && !found.includes(port) && (await isFree(port + 10_000))) found.push(port);
  }
  return found;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
