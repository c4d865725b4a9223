/** The example of another project's integration tests, run as that project would run them. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
let project: string;

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'store-data-example-'));
  await cp(join(ROOT, 'docs/examples/integration-test'), project, { recursive: true });
  // As `npm install` leaves them, without asking a registry.
  await mkdir(join(project, 'node_modules/@types'), { recursive: true });
  await symlink(ROOT, join(project, 'node_modules/store-data-api'));
  for (const name of ['vitest', 'typescript', '@types/node']) {
    await symlink(join(ROOT, 'node_modules', name), join(project, 'node_modules', name));
  }
});
afterAll(() => rm(project, { recursive: true, force: true }));

it('checks the types of the example against what the package declares', async () => {
  await run(join(ROOT, 'node_modules/.bin/tsc'), ['--noEmit'], { cwd: project });
});

it('starts an API of its own, and passes', async () => {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  // What this run of tests says of itself is not for another.
  const env = { ...process.env, VITEST: undefined };
  const { stdout } = await run(process.execPath, [vitest, 'run', '--reporter=json'], { cwd: project, env });
  expect(JSON.parse(stdout)).toMatchObject({ numPassedTests: 3, numFailedTests: 0, success: true });
});
