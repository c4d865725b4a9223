/**
 * Starts the servers for all integration tests and stops them at the end; compiles the programs
 * that tests start.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startStack } from '#local/stack/stack.ts';
import { inheritedEnvironment } from './service-process.ts';

const PROGRAMS = ['services/projector/main.ts', 'services/query/main.ts', 'services/admin/main.ts'];

export default async function setup(): Promise<() => Promise<void>> {
  // A killed process does not write its compile cache. Here each program loads once and exits for
  // lack of a configuration.
  const compiled = Promise.all(
    PROGRAMS.map((program) => {
      const env = inheritedEnvironment();
      return once(spawn(process.execPath, [program], { env, stdio: 'ignore' }), 'exit');
    }),
  );
  const stack = await startStack({
    dataFolder: await mkdtemp(join(tmpdir(), 'store-data-test-')),
    log: (line) => process.stderr.write(`${line}\n`),
  });
  await compiled;
  process.env['KAFKA_BROKERS'] = stack.kafkaBrokers.join(',');
  process.env['MONGODB_URI'] = stack.mongodbUri;
  process.env['REDIS_URL'] = stack.redisUrl;
  return () => stack.stop();
}
