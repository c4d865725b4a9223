import { describe, expect, it } from 'vitest';
import { useInstallation } from '#test/hooks.ts';
import project from '../../../package.json' with { type: 'json' };
import { expectRefused, runCommand, runProcess } from './run-command.ts';

describe('the process', () => {
  const installation = useInstallation();

  it('exits with 2 and one line on wrong usage, with 0 on --help, with 2 and the help without arguments', async () => {
    const env = installation.env;
    await expectRefused(runProcess(env, 'keys reboke'), '(Did you mean revoke?)', 2);
    const nowhere = `there is no environment "nowhere"; configured: ${installation.environment}\n`;
    await expectRefused(runCommand(env, 'stores block s1 -e nowhere'), nowhere, 2);
    expect(await runProcess(env, '--help')).toMatchObject({ code: 0, stderr: '' });
    await expectRefused(runProcess(env, []), 'Commands:', 2);
  });

  it('prints the version of the release', async () => {
    expect((await runCommand({}, '--version')).stdout).toBe(`${project.version}\n`);
  });

  it('names an unreachable server, without credentials or a stack trace', async () => {
    const MONGODB_URI = 'mongodb://user:secret@127.0.0.1:1/?replicaSet=rs0';
    await expectRefused(
      runCommand({ ...installation.env, MONGODB_URI }, 'keys list'),
      /^store-data: MongoDB cannot be reached at mongodb:\/\/127\.0\.0\.1:1\/ \(from the environment variables\): [^\n]+\n$/,
    );
  });

  it('lists every setting without values, and every mistake', async () => {
    const good = await runCommand(installation.env, 'config');
    expect(good.code).toBe(0);
    expect(good.stdout).toContain('* MONGODB_URI');
    expect(good.stdout).toContain('the settings make a configuration');
    expect(good.stdout).not.toContain(installation.config.mongodb.uri);
    const mistakes = { QUOTA_REQUEST: '5', LOG_LEVEL: 'loud', QUERY_PORT: '99999' };
    const bad = await runCommand({ ...installation.env, ...mistakes }, 'config');
    expect(bad.code).toBe(1);
    expect(bad.stderr.split('\n')).toEqual([
      'warning: QUOTA_REQUEST is not a setting; the nearest is QUOTA_REQUESTS',
      expect.stringContaining('LOG_LEVEL must be one of'),
      'store-data: QUERY_PORT must be a whole number from 0 to 65535',
      '',
    ]);
  });
});
