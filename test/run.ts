/** Runs every test and ends with the line `N passed, N failed` for tools. */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  success: boolean;
}

const folder = await mkdtemp(join(tmpdir(), 'store-data-report-'));
const report = join(folder, 'report.json');
const vitest = spawn(
  'vitest',
  ['run', '--project=unit', '--project=integration', ...process.argv.slice(2)],
  // kafkajs passes negative delays to timers, which is harmless.
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      TEST_REPORT: report,
      NODE_OPTIONS: '--disable-warning=TimeoutNegativeWarning',
    },
  },
);
const code = await new Promise<number>((resolve, reject) => {
  vitest.on('error', reject);
  vitest.on('exit', (status) => resolve(status ?? 1));
});
const text = await readFile(report, 'utf8').catch(() => null);
await rm(folder, { recursive: true, force: true });

if (text === null) {
  process.stdout.write('\n0 passed, 1 failed\n');
  process.exit(1);
}
const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, success } = JSON.parse(
  text,
) as Report;
const skipped = numPendingTests + numTodoTests;
// A file that cannot be loaded fails the run without counting as a test.
const failed = success && code === 0 ? numFailedTests : Math.max(numFailedTests, 1);
process.stdout.write(
  `\n${numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`,
);
process.exit(failed === 0 ? 0 : 1);
