/** The servers that are measured on: those whose addresses are given, a local stack for the rest. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startStack } from '#local/stack/stack.ts';
import type { Say } from './say.ts';

/** Makes the servers' addresses known to this process; what it started ends with `cleanup`. */
export async function startServers(say: Say, cleanup: AsyncDisposableStack): Promise<void> {
  const dataFolder = await mkdtemp(join(tmpdir(), 'store-data-bench-'));
  cleanup.defer(() => rm(dataFolder, { recursive: true, force: true }));
  const stack = await startStack({ dataFolder, log: say });
  cleanup.defer(() => stack.stop());
  process.env['KAFKA_BROKERS'] = stack.kafkaBrokers.join(',');
  process.env['MONGODB_URI'] = stack.mongodbUri;
  process.env['REDIS_URL'] = stack.redisUrl;
}
