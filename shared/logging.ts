/** The logger: JSON lines on standard output, with what must never be logged cut out as a second line of defence. */
import { type DestinationStream, type Logger, pino } from 'pino';
import type { Config } from './config.ts';

export type { Logger } from 'pino';

/** Makes the logger of one service; `destination` is for tests that read what was logged. */
export function createLogger(
  service: string,
  level: Config['logLevel'],
  destination?: DestinationStream,
): Logger {
  const options = {
    level,
    base: { service },
    redact: {
      paths: [
        'headers.authorization',
        'req.headers.authorization',
        'secret',
        'client_secret',
        'access_token',
      ],
      censor: '[redacted]',
    },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
