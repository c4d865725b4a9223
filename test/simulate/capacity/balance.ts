/** How evenly stores load partitions, shards and masters of Redis: by the partitioner that publishers use, and by Redis' slots. */
import kafkajs from 'kafkajs';
import { redisKeys } from '#shared/access/redis-keys.ts';
import { SLOTS, slotOf } from '#shared/redis-cluster/slot.ts';

const { Partitioners } = kafkajs;

/** The load of each partition. Stores are named `s1`, `s2` …, the largest first. */
export function loadOfPartitions(loads: readonly number[], partitions: number): number[] {
  const place = Partitioners.DefaultPartitioner();
  const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
    partitionErrorCode: 0,
    partitionId,
    leader: 0,
    replicas: [],
    isr: [],
  }));
  return gather(loads, partitions, (storeId) =>
    place({ topic: '', partitionMetadata, message: { key: storeId, value: null } }),
  );
}

/** The load of each shard: each partition is a zone, and zones are given to the shards in turn. */
export function loadOfShards(partitions: readonly number[], shards: number): number[] {
  const loads = Array.from({ length: shards }, () => 0);
  for (const [partition, load] of partitions.entries()) {
    const shard = partition % shards;
    loads[shard] = (loads[shard] ?? 0) + load;
  }
  return loads;
}

/** The load of each master of a Redis Cluster; each has as many slots. */
export function loadOfMasters(loads: readonly number[], masters: number): number[] {
  return gather(loads, masters, (storeId) =>
    Math.floor((slotOf(redisKeys('', 'production', storeId).storeAccess) * masters) / SLOTS),
  );
}

/** How many times as much as the mean the most loaded one has. */
export function imbalance(loads: readonly number[]): number {
  return (Math.max(...loads) * loads.length) / loads.reduce((sum, load) => sum + load, 0);
}

function gather(loads: readonly number[], parts: number, placeOf: (storeId: string) => number): number[] {
  const sums = Array.from({ length: parts }, () => 0);
  for (const [index, load] of loads.entries()) {
    const part = placeOf(`s${index + 1}`);
    sums[part] = (sums[part] ?? 0) + load;
  }
  return sums;
}
