/** The GitHub workflows, checked by actionlint. */
import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { findOnPath } from '#local/stack/program.ts';

const ACTIONLINT = 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12';
const run = promisify(execFile);

it('actionlint finds no mistake', { timeout: 240_000 }, async ({ skip }) => {
  const go = findOnPath('go', process.env);
  if (go === undefined) {
    skip('go is not installed, which fetches actionlint');
    return;
  }
  const env = { ...process.env, GOFLAGS: '-mod=mod' };
  const fetched = await Promise.allSettled([run(go, ['run', ACTIONLINT, '-version'], { env })]);
  if (fetched[0].status === 'rejected') skip(`actionlint is not to be had: ${fetched[0].reason}`);
  const { stdout } = await run(go, ['run', ACTIONLINT, ...globSync('.github/workflows/*')], {
    env,
  }).catch((error: { stdout: string }) => error);
  expect(stdout).toBe('');
});
