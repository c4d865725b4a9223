/** The machine and the programs that a result was measured with. */
import { availableParallelism, cpus, totalmem } from 'node:os';
import type { MongoClient } from 'mongodb';

export interface Machine {
  cores: number;
  memory_gib: number;
  cpu: string;
  node: string;
  mongodb: string;
}

export async function describeMachine(mongodb: MongoClient): Promise<Machine> {
  const { version } = (await mongodb.db().admin().buildInfo()) as { version: string };
  return {
    cores: availableParallelism(),
    memory_gib: Math.ceil(totalmem() / 2 ** 30),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    node: process.version,
    mongodb: version,
  };
}
