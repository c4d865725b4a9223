/** The logger: JSON lines on standard output. As a second line of defence it cuts out secrets. */
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import type { Config } from './config.ts';
import { describeError, framesOf } from './errors.ts';
import { LRUCache } from 'lru-cache';
import { StandardOutput } from './standard-output.ts';
import { lazy } from './waiting.ts';

export type { Logger } from 'pino';

const standardOutput = lazy(() => new StandardOutput());

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

export class RepeatedLines {
  readonly #said = new LRUCache<string, { at: number; leftOut: number }>({ max: CACHED_LINES });

  /**
   * @returns how often the line was left out since it was last logged; `null` if it is to be left
   * out now.
   */
  say(line: string, now = performance.now()): number | null {
    const said = this.#said.get(line);
    if (said !== undefined && now - said.at < SAID_EVERY_MS) {
      said.leftOut += 1;
      return null;
    }
    this.#said.set(line, { at: now, leftOut: 0 });
    return said?.leftOut ?? 0;
  }
}

/** Counts failures in a row, which are logged at once and then every minute. */
export class FailureTracker {
  #attempts = 0;
  #since = 0;
  #saidAt = 0;

  get isFailing(): boolean {
    return this.#attempts > 0;
  }

  /** @returns what to log; `null` if it was logged within the last minute. */
  failed(now: number): { attempts: number; seconds: number } | null {
    this.#attempts += 1;
    if (this.#attempts === 1) this.#since = now;
    else if (now - this.#saidAt < SAID_EVERY_MS) return null;
    this.#saidAt = now;
    return { attempts: this.#attempts, seconds: Math.round((now - this.#since) / 1_000) };
  }

  /** Notes a success. @returns whether it had failed. */
  end(): boolean {
    const hadFailed = this.isFailing;
    this.#attempts = 0;
    return hadFailed;
  }
}
