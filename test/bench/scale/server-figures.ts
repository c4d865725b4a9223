/** What the servers have done so far: processor time, and bytes that came in and went out. */
import type { Installation } from '#test/installation.ts';
import { mongodProcess } from '../projector/sides/mongod.ts';
import { cpuSeconds } from '../process-figures.ts';

export interface ServerFigures {
  /** Seconds; `null` where MongoDB does not run on this machine. */
  mongodbCpu: number | null;
  mongodbBytes: number;
  redisCpu: number;
  redisBytes: number;
}

/** Looks at both. On servers that others use meanwhile, what they do is in it. */
export async function lookAtServers({ mongodb, redis }: Installation): Promise<ServerFigures> {
  const { network } = (await mongodb.db().admin().serverStatus()) as {
    network: { bytesIn: number; bytesOut: number };
  };
  const mongod = await mongodProcess(mongodb);
  const info = await redis.info();
  const field = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1]);
  return {
    mongodbCpu: mongod === null ? null : await cpuSeconds(mongod),
    mongodbBytes: network.bytesIn + network.bytesOut,
    redisCpu: field('used_cpu_sys') + field('used_cpu_user'),
    redisBytes: field('total_net_input_bytes') + field('total_net_output_bytes'),
  };
}

/** What was done between two looks. */
export function difference(before: ServerFigures, after: ServerFigures): ServerFigures {
  const both = before.mongodbCpu !== null && after.mongodbCpu !== null;
  return {
    mongodbCpu: both ? Number(after.mongodbCpu) - Number(before.mongodbCpu) : null,
    mongodbBytes: after.mongodbBytes - before.mongodbBytes,
    redisCpu: after.redisCpu - before.redisCpu,
    redisBytes: after.redisBytes - before.redisBytes,
  };
}

/** Microseconds of each of so many. */
export function microseconds(seconds: number, count: number): number {
  return (seconds * 1e6) / count;
}
