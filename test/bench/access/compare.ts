/** Compares two sides by their requests a second. */
import { measureInTurn, type Side, summarize } from '../in-turn.ts';
import type { Load } from '../load/load.ts';
import type { AccessBenchOptions } from './options.ts';
import type { Comparison } from './result.ts';

const WARM_UP_SECONDS = 2;

export async function compare(
  load: Load,
  { name, ...sides }: { name: string; ours: Side; other: Side },
  { connections, seconds, rounds }: Pick<AccessBenchOptions, 'connections' | 'seconds' | 'rounds'>,
): Promise<Comparison> {
  const options = { connections, seconds, rounds, warmUpSeconds: WARM_UP_SECONDS };
  return { name, ...summarize(await measureInTurn(load, sides, options)) };
}
