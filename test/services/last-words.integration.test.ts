/** A service that fails ends with one JSON line of level fatal. */
import { describe, expect, it } from 'vitest';
import { useInstallation } from '#test/hooks.ts';
import { type LogLine, startService } from '#test/service-process.ts';

const installation = useInstallation();

/** Throws an uncaught error on a signal. */
const failing = (statement: string) => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`process.on('SIGWINCH', () => { ${statement} })`)}`,
});
const FAILURES = [
  ['an uncaught exception', failing("throw new Error('boom')")],
  ['an unhandled rejection', failing("Promise.reject(new Error('boom'))")],
] as const;

/** The fields of every log line. */
const ofService = (name: string, level: unknown, msg: unknown): LogLine =>
  ({ service: name, level, time: expect.anything(), msg }) as LogLine;

describe.each(['projector', 'query'] as const)('the last log line of the %s', (name) => {
  it.each([
    ['numbers', 60],
    ['names', 'fatal'],
  ])('are fatal where its settings are wrong, with LOG_FORMAT=%s', async (format, level) => {
    const service = startService(name, {
      ...installation.env,
      LOG_FORMAT: format,
      REDIS_URL: '',
      QUOTA_REQUESTS: 'many',
    });
    expect(await service.ended).toEqual({ code: 1, signal: null });
    expect(service.lines).toEqual([
      {
        ...ofService(
          name,
          level,
          expect.stringMatching(
            /^the (projector|query service) ends: REDIS_URL is required: .*\nQUOTA_REQUESTS must be/,
          ),
        ),
        code: 'config_invalid',
      },
    ]);
  });

  it.each(FAILURES)('is fatal after %s', async (_case, preload) => {
    const service = startService(name, { ...installation.env, ...preload });
    await service.logged(({ msg }) => msg?.endsWith(' started') === true);
    service.kill('SIGWINCH');
    expect(await service.ended).toEqual({ code: 1, signal: null });
    expect(service.lines.at(-1)).toEqual({
      ...ofService(name, 60, expect.stringMatching(/^the (projector|query service) failed/)),
      err: expect.objectContaining({ message: 'Error: boom' }),
    });
  });
});
