/** Starts the servers once for all integration tests, and stops them after the last. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startStack } from '#local/stack/stack.ts';

export default async function setup(): Promise<() => Promise<void>> {
  const stack = await startStack({
    dataFolder: await mkdtemp(join(tmpdir(), 'store-data-test-')),
    log: (line) => process.stderr.write(`${line}\n`),
  });
  process.env['KAFKA_BROKERS'] = stack.kafkaBrokers.join(',');
  process.env['MONGODB_URI'] = stack.mongodbUri;
  process.env['REDIS_URL'] = stack.redisUrl;
  return () => stack.stop();
}
