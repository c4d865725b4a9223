/**
 * The environment of every benchmark: servers, a new installation, a folder for logs, and the
 * cleanup.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGuard } from '#local/stack/process.ts';
import { startStack } from '#local/stack/stack.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import { say } from './say.ts';
import { type Program, type RunningService, startService } from './service.ts';

/** Timeouts so long that load shows as time, and quotas above the load of any benchmark. */
const SETTINGS = {
  QUOTA_REQUESTS: '1000000000',
  TOKEN_LIFETIME_SECONDS: '86400',
  MONGODB_READ_TIMEOUT_MS: '60000',
  REDIS_COMMAND_TIMEOUT_MS: '10000',
  OVERLOAD_LATENCY_MS: '60000',
};

export interface BenchContext {
  installation: Installation;
  /** Runs at the end of the benchmark. */
  cleanup: AsyncDisposableStack;
  /** Starts a program, stopped by the cleanup. `env` extends the installation's. */
  start: (program: Program, env?: Record<string, string>) => Promise<RunningService>;
}

/** Prepares the environment. `settings` extend or replace those of all benchmarks. */
export async function prepareBench(
  cleanup: AsyncDisposableStack,
  settings: Record<string, string>,
  partitions: number,
): Promise<BenchContext> {
  const folder = await mkdtemp(join(tmpdir(), 'store-data-bench-'));
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  const stack = await startStack({ dataFolder: join(folder, 'servers'), log: say });
  cleanup.defer(() => stack.stop());
  process.env['KAFKA_BROKERS'] = stack.kafkaBrokers.join(',');
  process.env['MONGODB_URI'] = stack.mongodbUri;
  process.env['REDIS_URL'] = stack.redisUrl;
  const guard = startGuard();
  cleanup.defer(() => guard.close());
  const installation = await createInstallation({
    partitions,
    settings: { ...SETTINGS, ...settings },
  });
  cleanup.defer(() => installation.close());
  const start: BenchContext['start'] = async (program, env = {}) => {
    const service = await startService(program, { ...installation.env, ...env }, { folder, guard });
    cleanup.defer(service.stop);
    return service;
  };
  return { installation, cleanup, start };
}
