/**
 * Lists at the end of a run the tests that passed only at the second attempt. Each is a race in the
 * test or the product to fix.
 */
import type { Reporter, TestCase } from 'vitest/node';

export default class SecondAttempts implements Reporter {
  readonly #found: string[] = [];

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky !== true) return;
    const [reason] = test.result().errors ?? [];
    this.#found.push(
      `${test.module.relativeModuleId}: ${test.fullName}: ${reason?.message ?? 'no reason'}`,
    );
  }

  onTestRunEnd(): void {
    for (const found of this.#found)
      process.stdout.write(`passed at the second attempt: ${found}\n`);
  }
}
