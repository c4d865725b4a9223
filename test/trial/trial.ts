/** The randomized trial: runs episodes until its time is over. */
import { type EpisodeOptions, playEpisode } from './episode.ts';
import { NOTHING, type Tally } from './tally.ts';

type TrialOptions = Omit<EpisodeOptions, 'isOver'> & { seconds: number };

/**
 * Runs the trial, and completes the last round.
 * @throws at the first difference, with the seed.
 */
export async function runTrial({ seed, seconds, ...others }: TrialOptions): Promise<Tally> {
  const tally = { ...NOTHING };
  const end = performance.now() + seconds * 1_000;
  const isOver = () => performance.now() >= end;
  for (let number = 0; number === 0 || !isOver(); number += 1) {
    const options = { ...others, seed: (seed + number) % 2 ** 31, isOver };
    try {
      await playEpisode(options, tally);
    } catch (error) {
      throw new Error(`differs with --seed ${options.seed} after ${tally.answers} answers`, {
        cause: error,
      });
    }
    others.say(`seed ${options.seed}: ${describeTally(tally)}`);
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
