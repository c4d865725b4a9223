/** The options of `npm start`, checked before anything is started. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { resolve } from 'node:path';

export interface StartOptions {
  stores: number;
  history: number;
  ordersPerMinute: number;
  traffic: boolean;
  /** Requests a minute for each store and environment, unless the configuration says it. */
  quota?: number;
  /** Where the API listens, unless at the usual port, or at a free one if that is taken. */
  port?: number;
  keepData: boolean;
  folder: string;
}

/** Fixed, so that saved requests and bookmarks stay valid. */
export const USUAL_PORT = 8080;

/** The port that the user demands; `null` for any. */
export function demandedPort({ port }: StartOptions): number | null {
  const { QUERY_PORT: given = '' } = process.env;
  return port ?? (/^\d{1,5}$/.test(given) ? Number(given) : null);
}

const DEFAULT_FOLDER = resolve(import.meta.dirname, '../../../.local');

/** Ends the process after help or a usage error. */
export function readOptions(args: readonly string[]): StartOptions {
  return new Command('npm start --')
    .description(
      'Runs the whole system on this machine: Kafka, MongoDB and Redis, the projector, the query service, ' +
        'and simulated stores whose orders flow through it. Ctrl-C ends everything.',
    )
    .option('--stores <n>', 'how many stores to simulate', whole(1, 10_000), 5)
    .option('--history <n>', 'orders of the past 30 days of each store', whole(0, 1_000_000), 200)
    .option(
      '--orders-per-minute <n>',
      'new orders of all stores together, a tenth of them in sandbox',
      whole(0, 600_000),
      60,
    )
    .option(
      '--no-traffic',
      'history only: no new orders, though whatever is published to Kafka is served',
    )
    .option(
      '--quota <n>',
      'requests a minute for each store and environment',
      whole(1, 1_000_000_000),
    )
    .option(
      '--port <n>',
      `where the API listens (default: ${USUAL_PORT} if it is free)`,
      whole(0, 65_535),
    )
    .option(
      '--keep-data',
      'leave data and signing key in the folder, and begin with what is there',
      false,
    )
    .addOption(
      new Option('--folder <path>', 'where data, logs and stack.json lie')
        .default(DEFAULT_FOLDER, '.local')
        .argParser((path) => resolve(path)),
    )
    .parse(args, { from: 'user' })
    .opts<StartOptions>();
}

function whole(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}
