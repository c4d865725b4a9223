/** The GitHub workflows, checked by actionlint. */
import { globSync } from 'node:fs';
import { expect, it } from 'vitest';
import { run } from '#test/run.ts';
import { prepared, requireProgram, settled } from '../clients/programs.ts';

const ACTIONLINT = 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12';

async function actionlint(...args: string[]): Promise<string> {
  const env = { GOFLAGS: '-mod=mod' };
  return run(requireProgram('go'), ['run', ACTIONLINT, ...args], { env });
}

it('actionlint finds no mistake', { timeout: 240_000 }, async (context) => {
  await prepared(settled(actionlint('-version')), context);
  const workflows = globSync('.github/workflows/*');
  const said = await actionlint(...workflows).catch((error: { stdout: string }) => error.stdout);
  expect(said).toBe('');
});
