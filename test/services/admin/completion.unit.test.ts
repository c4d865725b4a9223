import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from './run-command.ts';

const run = promisify(execFile);
const scriptFor = async (shell: string) => (await runCommand({}, ['completion', shell])).stdout;

describe('completion', () => {
  let script: string;
  beforeAll(async () => {
    script = await scriptFor('bash');
  });

  it.each([
    ['keys l', ['list']],
    ['keys list --st', ['--store', '--status']],
    ['keys list --status ', ['active', 'inactive', 'revoked']],
    ['stores block list --e', ['--environment']],
    ['completion ', ['bash', 'zsh', '--help']],
    ['nonsense', []],
  ])('of "store-data %s" is %j', async (typed, words) => {
    const line = ['store-data', ...typed.split(' ')].map((word) => `'${word}'`).join(' ');
    const ask = `COMP_WORDS=(${line}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _store_data; echo "\${COMPREPLY[*]}"`;
    const { stdout } = await run('bash', ['-c', `${script}\n${ask}`]);
    expect(stdout.split(/\s+/).filter((word) => word !== '')).toEqual(words);
  });

  it('suggests the same in zsh', async () => {
    const wordsIn = (text: string) =>
      text.slice(text.indexOf('_store_data_at()'), text.indexOf('\n_store_data()'));
    expect(wordsIn(await scriptFor('zsh'))).toBe(wordsIn(script));
    expect(script.split('\n').length).toBeGreaterThan(40);
  });
});

describe('a mistake', () => {
  const env = { KAFKA_BROKERS: '', MONGODB_URI: 'nonsense', REDIS_URL: '' };

  it.each([
    ['keys list --nope', 2, 'command_invalid', "unknown option '--nope'; see "],
    ['keys list', 1, 'config_invalid', 'MONGODB_URI must be a URI'],
  ])('in "%s" is JSON where JSON is asked for', async (words, code, name, message) => {
    const result = await runCommand(env, `${words} --json`);
    expect([result.code, result.stdout]).toEqual([code, '']);
    expect(JSON.parse(result.stderr)).toEqual({
      error: { code: name, message: expect.stringContaining(message) as string },
    });
    expect((await runCommand(env, words)).stderr).toMatch(/^store-data: /);
  });
});
