/** A service that fails ends with one JSON line of level fatal. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { freePorts } from '#local/stack/program.ts';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { type LogLine, startService } from '#test/service-process.ts';

const installation = useInstallation();

/** Throws an uncaught error on a signal. */
const FAILING = `process.on('SIGWINCH', () => { throw new Error('boom') })`;

/** The fields of every log line. */
const ofService = (name: string, msg: RegExp): LogLine => ({
  service: name,
  level: 60,
  time: expect.anything(),
  msg: expect.stringMatching(msg),
});

describe.each(['projector', 'query'] as const)('the last log line of the %s', (name) => {
  it('is fatal where its settings are wrong', async () => {
    const service = startService(name, {
      ...installation.env,
      REDIS_URL: '',
      QUOTA_REQUESTS: 'many',
    });
    expect(await service.ended).toEqual({ code: 1, signal: null });
    expect(service.lines).toEqual([
      {
        ...ofService(
          name,
          /^the (projector|query service) ends: REDIS_URL is required: .*\nQUOTA_REQUESTS must be/,
        ),
        code: 'config_invalid',
      },
    ]);
  });

  it('is fatal after an uncaught exception', async () => {
    const preload = `--import=data:text/javascript,${encodeURIComponent(FAILING)}`;
    const service = startService(name, { ...installation.env, NODE_OPTIONS: preload });
    await service.logged(({ msg }) => msg?.endsWith(' started') === true);
    service.kill('SIGWINCH');
    expect(await service.ended).toEqual({ code: 1, signal: null });
    expect(service.lines.findLast(({ level }) => level === 60)).toEqual({
      ...ofService(name, /^the (projector|query service) failed/),
      err: expect.objectContaining({ message: 'Error: boom' }),
    });
  });
});

it.each(['projector', 'query'] as const)(
  'a %s whose output cannot be written serves, and ends in order',
  async (name) => {
    const [port = 0] = await freePorts(1);
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [`services/${name}/main.ts`], {
      env: {
        ...process.env,
        ...installation.env,
        OPERATIONS_PORT: String(port),
        LOG_LEVEL: 'trace',
      },
      stdio: ['ignore', full, 'pipe'],
    });
    let said = '';
    child.stderr?.on('data', (chunk) => (said += String(chunk)));
    const exited = once(child, 'exit');
    closeSync(full);
    try {
      await eventually('it is ready', async () => {
        expect(child.exitCode, said).toBeNull();
        const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => null);
        return answer?.ok === true;
      });
      child.kill('SIGTERM');
      expect(await exited).toEqual([0, null]);
    } finally {
      child.kill('SIGKILL');
    }
  },
);
