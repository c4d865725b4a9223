/** A Redis Cluster of three masters with a replica each, as processes of one test. */
import { CLUSTER_BUS, freePorts } from '#local/stack/program.ts';
import { CLUSTER_SETTINGS, CLUSTER_SLOTS, formCluster } from '#local/stack/redis/redis.ts';
import slotOf from 'cluster-key-slot';
import { openRedisHome, type RedisProcess, startRedisProcess } from './redis-process.ts';

export interface ClusterShard {
  master: RedisProcess;
  replica: RedisProcess;
  /** Whether this shard holds a key. */
  holds: (key: string) => boolean;
}

export interface RedisClusterProcesses {
  /** An address for `REDIS_URL` with two of the six nodes. */
  url: string;
  shards: readonly ClusterShard[];
  close: () => Promise<void>;
}

/** Long, so that a stalled server on a busy machine is not replaced. */
const NODE_TIMEOUT_MS = 3_000;

export async function startRedisCluster(): Promise<RedisClusterProcesses> {
  const home = await openRedisHome();
  const ports = await freePorts(6, CLUSTER_BUS);
  const settings = [...CLUSTER_SETTINGS, '--cluster-node-timeout', String(NODE_TIMEOUT_MS)];
  const nodes = await Promise.all(ports.map((port) => startRedisProcess(settings, { home, port })));
  const [masters, replicas] = [nodes.slice(0, 3), nodes.slice(3)];
  await formCluster(ports, new AbortController().signal);
  const shards = CLUSTER_SLOTS.map(([first, last], index) => {
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
