/** The logger: JSON lines on standard output. As a second line of defence it cuts out secrets. */
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import type { Config } from './config.ts';
import { describeError, framesOf } from './errors.ts';
import { LRUCache } from 'lru-cache';
import { openStandardOutput } from './standard-output.ts';
import { lazy } from './waiting.ts';

export type { Logger } from 'pino';

const standardOutput = lazy(openStandardOutput);

/**
 * Lines reach standard output within 200 ms; a killed process loses the last ones.
 * @param destination for tests.
 */
export function createLogger(
  service: string,
  level: Config['logLevel'],
  destination: DestinationStream = standardOutput(),
  format: Config['logFormat'] = 'numbers',
): Logger {
  const options = {
    level,
    ...(format === 'names' && {
      formatters: { level: (name: string) => ({ level: name }) },
      timestamp: stdTimeFunctions.isoTime,
    }),
    base: { service },
    serializers: { err: serializeError },
    redact: {
      paths:
        'headers.authorization req.headers.authorization secret client_secret access_token'.split(
          ' ',
        ),
      censor: '[redacted]',
    },
  };
  return pino(options, destination);
}

/**
 * Without the properties of an error: those of a driver may hold an address, or a command with its
 * password.
 */
function serializeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: describeError(error) };
  return { type: error.name, message: describeError(error), stack: framesOf(error) };
}

const SAID_EVERY_MS = 60_000;
const CACHED_LINES = 100;

/**
 * Keeps a line that repeats from filling the log: it is logged once a minute.
 * @returns a function to call with each line. It returns `null` if the line is to be left out now,
 * otherwise how often it was left out since it was last logged.
 */
export function repeatedLines(): (line: string, now?: number) => number | null {
  const said = new LRUCache<string, { at: number; leftOut: number }>({ max: CACHED_LINES });
  return (line, now = performance.now()) => {
    const last = said.get(line);
    if (last !== undefined && now - last.at < SAID_EVERY_MS) {
      last.leftOut += 1;
      return null;
    }
    said.set(line, { at: now, leftOut: 0 });
    return last?.leftOut ?? 0;
  };
}

/** Counts failures in a row, which are logged at once and then every minute. */
export function countFailures() {
  let attempts = 0;
  let since = 0;
  let saidAt = 0;
  return {
    get isFailing(): boolean {
      return attempts > 0;
    },

    /** @returns what to log; `null` if it was logged within the last minute. */
    failed(now: number): { attempts: number; seconds: number } | null {
      attempts += 1;
      if (attempts === 1) since = now;
      else if (now - saidAt < SAID_EVERY_MS) return null;
      saidAt = now;
      return { attempts, seconds: Math.round((now - since) / 1_000) };
    },

    /** Notes a success. @returns whether it had failed. */
    end(): boolean {
      const hadFailed = attempts > 0;
      attempts = 0;
      return hadFailed;
    },
  };
}
