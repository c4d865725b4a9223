/** What every measurement of queries begins with: servers, stores on both sides, the two services, a token for each store. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGuard } from '#local/stack/program/guard.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import type { Say } from '../say.ts';
import { startServers } from '../servers.ts';
import { type Filled, fillStores } from './fill.ts';
import { type Sides, startSides } from './side.ts';
import type { BenchStore } from './stores/record.ts';
import { fetchTokens, publishKeys } from './tokens.ts';

/** Where load would end a request, both sides shall show it as time. */
const SETTINGS = {
  QUOTA_REQUESTS: '1000000000',
  TOKEN_LIFETIME_SECONDS: '86400',
  MONGODB_READ_TIMEOUT_MS: '60000',
  REDIS_COMMAND_TIMEOUT_MS: '10000',
};

export interface Setup {
  installation: Installation;
  filled: Filled;
  sides: Sides;
  tokens: ReadonlyMap<string, string>;
}

/** Sets everything up; it ends with `cleanup`. */
export async function setUp(
  stores: readonly BenchStore[],
  say: Say,
  cleanup: AsyncDisposableStack,
): Promise<Setup> {
  await startServers(say, cleanup);
  const guard = startGuard();
  cleanup.defer(() => guard.close());
  const folder = await mkdtemp(join(tmpdir(), 'store-data-bench-'));
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  const installation = await createInstallation({ settings: SETTINGS });
  cleanup.defer(() => installation.close());
  const keys = await publishKeys(
    installation,
    stores.map(({ storeId }) => storeId),
  );
  const filled = await fillStores(installation, stores, folder, guard, say);
  const sides = await startSides(installation, folder, guard, cleanup);
  return { installation, filled, sides, tokens: await fetchTokens(sides.ours, keys) };
}
