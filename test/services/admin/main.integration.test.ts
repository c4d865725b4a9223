import { describe, expect, it } from 'vitest';
import { useInstallation } from '#test/hooks.ts';
import project from '../../../package.json' with { type: 'json' };
import { expectRefused, runCommand, runProcess } from './run-command.ts';

describe('the process', () => {
  const installation = useInstallation();

  it('exits with 2 and one line on wrong usage, with 0 on --help, with 2 and the help without arguments', async () => {
    const env = installation.env;
    const unknown =
      "store-data: unknown command 'reboke' (Did you mean revoke?); see store-data keys --help\n";
    expect(await runProcess(env, 'keys reboke')).toEqual({
      code: 2,
      stdout: '',
      stderr: unknown,
    });
    const nowhere = `store-data: there is no environment "nowhere"; configured: ${installation.environment}\n`;
    await expectRefused(runCommand(env, 'stores block s1 -e nowhere'), nowhere, 2);
    const question =
      'store-data: there is no terminal for a question: give --yes to drop dead letters for good\n';
    await expectRefused(runCommand(env, 'dead-letters drop --all'), question, 2);
    expect(await runProcess(env, '--help')).toMatchObject({ code: 0, stderr: '' });
    await expectRefused(runProcess(env, []), 'Commands:', 2);
  });

  it('prints the version of the release', async () => {
    for (const flag of ['--version', '-V']) {
      expect(await runProcess({}, [flag])).toEqual({
        code: 0,
        stdout: `${project.version}\n`,
        stderr: '',
      });
    }
  });

  it('names an unreachable server, without credentials or a stack trace', async () => {
    const away = {
      ...installation.env,
      MONGODB_URI: 'mongodb://user:secret@127.0.0.1:1/?replicaSet=rs0',
    };
    const begunAt = performance.now();
    await runProcess(away, '--help');
    const startMs = performance.now() - begunAt;
    const askedAt = performance.now();
    const { code, stderr } = await runProcess(away, 'keys list');
    const tookMs = performance.now() - askedAt;
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^store-data: MongoDB cannot be reached at mongodb:\/\/127\.0\.0\.1:1\/ \(from the environment variables\): [^\n]+\n$/,
    );
    expect(stderr).not.toContain('secret');
    // The driver's default of 30 s is too long at a terminal.
    expect(tookMs).toBeLessThan(20_000 + 3 * startMs);
  });

  it('shows no part of a password, whatever characters it has', async () => {
    const { env, environment } = installation;
    const away = { ...env, REDIS_URL: 'redis://:abc@tail@127.0.0.1:1?password=tail' };
    const setting = runCommand(away, `quota set -s s1 --requests 5 -e ${environment}`);
    await expectRefused(setting, 'Redis cannot be reached at redis://127.0.0.1:1 (from');
    expect((await setting).stderr).not.toMatch(/abc|tail/);
    const uncertain = {
      ...env,
      REDIS_URL: 'redis://:ab/tail@host',
      MONGODB_URI: 'mongodb://user:tail',
    };
    for (const words of ['config', 'keys list']) {
      const refused = await runCommand(uncertain, words);
      expect(refused.code).toBe(1);
      expect(refused.stderr).toMatch(/MONGODB_URI must be a URI .*\n.*REDIS_URL must be a URI/);
      expect(refused.stdout + refused.stderr).not.toMatch(/ab\/|tail/);
    }
  });

  it('lists every setting without values, and every mistake', async () => {
    const good = await runCommand(installation.env, 'config');
    expect(good.code).toBe(0);
    expect(good.stdout).toContain('* MONGODB_URI');
    expect(good.stdout).toContain('the settings make a configuration');
    expect(good.stdout).not.toContain(installation.config.mongodb.uri);
    const misspelt = { ...installation.env, QUOTA_REQUEST: '5', KAFKA_BROKER: 'x:1' };
    const doubtful = await runCommand(misspelt, 'config');
    expect(doubtful.code).toBe(0);
    expect(doubtful.stdout).toMatch(/the settings make a configuration, but see the warnings\n$/);
    expect(doubtful.stderr).toBe(
      'warning: QUOTA_REQUEST is not a setting; the nearest is QUOTA_REQUESTS\n' +
        'warning: KAFKA_BROKER is not a setting; the nearest is KAFKA_BROKERS\n',
    );
    const bad = await runCommand(
      { ...installation.env, LOG_LEVEL: 'loud', QUERY_PORT: '99999' },
      'config',
    );
    expect(bad.code).toBe(1);
    expect(bad.stderr).toBe(
      'store-data: LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent\nstore-data: QUERY_PORT must be a whole number from 0 to 65535\n',
    );
  });
});
