/** What every benchmark stands on: servers, an installation of its own, a folder for logs, and somebody who ends what it starts. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Guard, startGuard } from '#local/stack/process.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import type { Program } from './programs.ts';
import type { Say } from './say.ts';
import { startServers } from './servers.ts';
import { type RunningService, startService } from './service.ts';

/** Requests a store may make: more than any benchmark does. */
export const QUOTA = 1_000_000_000;

/** Where load would end a request, it shall show as time. */
const SETTINGS = {
  QUOTA_REQUESTS: String(QUOTA),
  TOKEN_LIFETIME_SECONDS: '86400',
  MONGODB_READ_TIMEOUT_MS: '60000',
  REDIS_COMMAND_TIMEOUT_MS: '10000',
  OVERLOAD_LATENCY_MS: '60000',
};

export interface Ground {
  installation: Installation;
  folder: string;
  guard: Guard;
  /** Starts a program beside the others; it ends with the ground. `env` comes on top of the installation's. */
  start: (program: Program, env?: Record<string, string>) => Promise<RunningService>;
}

/** Prepares it; it ends with `cleanup`. `settings` come on top of, or in place of, those that all benchmarks have. */
export async function layGround(
  say: Say,
  cleanup: AsyncDisposableStack,
  settings: Record<string, string> = {},
  topics: { environments?: number; partitions?: number } = {},
): Promise<Ground> {
  await startServers(say, cleanup);
  const guard = startGuard();
  cleanup.defer(() => guard.close());
  const folder = await mkdtemp(join(tmpdir(), 'store-data-bench-'));
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  const installation = await createInstallation({ ...topics, settings: { ...SETTINGS, ...settings } });
  cleanup.defer(() => installation.close());
  const start: Ground['start'] = async (program, env = {}) => {
    const service = await startService({ ...program, env: { ...installation.env, ...env }, folder, guard });
    cleanup.defer(service.stop);
    return service;
  };
  return { installation, folder, guard, start };
}
