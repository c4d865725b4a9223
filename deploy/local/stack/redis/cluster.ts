// Makes a cluster of six Redis servers of this machine: three masters, each with a replica.
import { Redis } from 'ioredis';
import { retryUntil } from '../wait.ts';

/** What a server of a cluster is started with. */
export const CLUSTER_SETTINGS = [
  ['--cluster-enabled', 'yes'],
  // However long ago a replica was cut off, it takes over.
  ['--cluster-replica-validity-factor', '0'],
  // While a master is away, the others serve what they have.
  ['--cluster-require-full-coverage', 'no'],
].flat();

/** The first and the last slot of each master. */
export const CLUSTER_SLOTS = [
  [0, 5_460],
  [5_461, 10_922],
  [10_923, 16_383],
] as const;

const LIMIT_MS = 60_000;

/** Resolves with its address, as `REDIS_URL` takes it, when it serves: the servers of the first three ports are its masters. */
export async function formCluster(ports: readonly number[], signal: AbortSignal): Promise<string> {
  const nodes = ports.map((port) => new Redis(port, '127.0.0.1'));
  const [masters, replicas] = [nodes.slice(0, 3), nodes.slice(3)];
  const until = async (some: readonly Redis[], what: string, check: (node: Redis) => Promise<boolean>) => {
    for (const node of some) {
      await retryUntil(LIMIT_MS, signal, async () => {
        if (!(await check(node))) throw new Error(what);
      });
    }
  };
  try {
    // Epochs of their own from the beginning on, so that none has to be agreed upon.
    await Promise.all(nodes.map((node, index) => node.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)));
    for (const [index, [first, last]] of CLUSTER_SLOTS.entries()) {
      const slots = Array.from({ length: last - first + 1 }, (_, offset) => first + offset);
      await masters[index]?.cluster('ADDSLOTS', ...slots);
    }
    for (const node of nodes) for (const port of ports) await node.cluster('MEET', '127.0.0.1', port);
    await until(nodes, 'not all know one another', async (node) => {
      const lines = (await nodesKnownTo(node)).trim().split('\n');
      return lines.length === nodes.length && lines.every((line) => !line.includes('handshake'));
    });
    for (const [index, replica] of replicas.entries()) {
      await replica.cluster('REPLICATE', String(await masters[index]?.cluster('MYID')));
    }
    await until(nodes, 'the cluster does not serve', async (node) => {
      const isOk = (await node.cluster('INFO')).includes('cluster_state:ok');
      return isOk && (await nodesKnownTo(node)).match(/slave /g)?.length === replicas.length;
    });
    await until(replicas, 'not all replicas follow', async (node) =>
      (await node.info('replication')).includes('master_link_status:up'),
    );
  } finally {
    for (const node of nodes) node.disconnect();
  }
  return `redis+cluster://${ports.map((port) => `127.0.0.1:${port}`).join()}`;
}

async function nodesKnownTo(node: Redis): Promise<string> {
  return String(await node.cluster('NODES'));
}
