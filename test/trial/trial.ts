/** The randomized trial: runs episodes until its time is over. */
import { type EpisodeOptions, playEpisode, type Tally } from './episode.ts';

export interface TrialOptions {
  seed: number;
  seconds: number;
  /** The rounds of an episode, fewer if the time is over. */
  rounds: number;
  say: EpisodeOptions['say'];
  /** `null` where MongoDB is shared with others. */
  mongodb: EpisodeOptions['mongodb'];
}

/**
 * Runs the trial, and completes the last round.
 * @throws at the first difference, with the seed.
 */
export async function runTrial({
  seed,
  seconds,
  rounds,
  say,
  mongodb,
}: TrialOptions): Promise<Tally> {
  const tally: Tally = {
    answers: 0,
    found: 0,
    rounds: 0,
    events: 0,
    poison: 0,
    kills: 0,
    killsInTransactions: 0,
    freezes: 0,
    stepDowns: 0,
    overloads: 0,
    rebuilds: 0,
    rollbacks: 0,
    topicsGrown: 0,
    copies: 0,
    transactions: 0,
    aborted: 0,
    rawBatches: 0,
    poisonBatches: 0,
  };
  const end = performance.now() + seconds * 1_000;
  const isOver = () => performance.now() >= end;
  for (let number = 0; number === 0 || !isOver(); number += 1) {
    const options = { seed: (seed + number) % 2 ** 31, rounds, isOver, say, mongodb };
    try {
      await playEpisode(options, tally);
    } catch (error) {
      throw new Error(`differs with --seed ${options.seed} after ${tally.answers} answers`, {
        cause: error,
      });
    }
    say(`seed ${options.seed}: ${describeTally(tally)}`);
  }
  return tally;
}

/** The tally in one line. */
export function describeTally(tally: Tally): string {
  return Object.entries(tally)
    .map(
      ([name, count]) =>
        `${name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)} ${count}`,
    )
    .join(', ');
}
