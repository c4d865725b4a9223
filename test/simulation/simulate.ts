/** Runs histories, and shrinks the first that breaks a promise. */
import { actionsOf, type History, runHistory } from './world.ts';

export interface Simulated {
  /** The trace of a history that broke a promise; `null` if none did. */
  broken: readonly string[] | null;
  summary: string;
}

/**
 * @param first the seed of the first history; others have the following seeds.
 * @param isShrunk whether to shrink a history that breaks a promise.
 * @param clock measures the time limit.
 */
export async function simulate(
  first: number,
  milliseconds: number,
  isShrunk = true,
  clock = (): number => performance.now(),
): Promise<Simulated> {
  const began = clock();
  let histories = 0;
  let steps = 0;
  for (let seed = first; clock() - began < milliseconds; seed += 1) {
    const history = await runHistory(seed);
    histories += 1;
    steps += history.steps;
    if (history.violation === null) continue;
    const { actions, shortest } = isShrunk
      ? await shrink(history)
      : { actions: actionsOf(seed), shortest: history };
    const summary = `seed ${seed}, the first ${actions} actions: ${shortest.violation?.message ?? ''}`;
    return { broken: shortest.trace, summary };
  }
  const summary = `${histories} histories from seed ${first} on, ${steps} steps: every promise was kept`;
  return { broken: null, summary };
}

/** Finds the fewest actions of the same seed that break a promise. */
async function shrink(history: History): Promise<{ actions: number; shortest: History }> {
  let shortest = history;
  let actions = actionsOf(history.seed);
  for (let fewer = actions - 1; fewer > 0; fewer -= fewer > 20 ? 5 : 1) {
    const shorter = await runHistory(history.seed, fewer);
    if (shorter.violation === null) continue;
    shortest = shorter;
    actions = fewer;
  }
  return { actions, shortest };
}
