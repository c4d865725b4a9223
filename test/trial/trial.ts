/** The randomized trial: runs episodes until its time is over. */
import { type EpisodeOptions, playEpisode } from './episode.ts';
import { NOTHING, type Tally } from './tally.ts';

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
  const tally = { ...NOTHING };
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
