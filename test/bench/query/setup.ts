/** What every measurement of queries begins with: servers, stores on both sides, the two services, a token for each store. */
import type { Installation } from '#test/installation.ts';
import { layGround } from '../ground.ts';
import type { Say } from '../say.ts';
import { type Filled, fillStores } from './fill.ts';
import { type Sides, startSides } from './side.ts';
import type { BenchStore } from './stores/record.ts';
import { fetchTokens, publishKeys } from './tokens.ts';

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
  const ground = await layGround(say, cleanup);
  const { installation } = ground;
  const keys = await publishKeys(
    installation,
    stores.map(({ storeId }) => storeId),
  );
  const filled = await fillStores(ground, stores, say);
  const sides = await startSides(ground);
  return { installation, filled, sides, tokens: await fetchTokens(sides.ours.url, keys) };
}
