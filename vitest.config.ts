/**
 * Unit tests are pure and quick; integration tests run against real servers; faults are caused by
 * `npm run test:faults`.
 */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/longest-first.ts';

// Workers, and what tests start as processes of their own, load hundreds of modules each: Node
// keeps them compiled from run to run.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(
  new URL('node_modules/.cache/compiled', import.meta.url),
);

/**
 * Unit and integration tests take turns in the same workers: while some wait for servers, others
 * compute.
 */
const TOGETHER = {
  maxWorkers: 5,
  sequence: { groupOrder: 0 },
  // A file finds the modules loaded that another one needed before: no test mocks modules or leaves
  // anything in them.
  isolate: false,
  // `npm test` names at its end each test that needed it.
  retry: 1,
};

const outputFile = process.env['TEST_REPORT'];

export default defineConfig({
  test: {
    // The report is for test/run.ts.
    reporters: [
      'default',
      './test/second-attempts.ts',
      ...(outputFile === undefined ? [] : ['json']),
    ],
    ...(outputFile !== undefined && { outputFile }),
    sequence: { sequencer: LongestFirst },
    // Node runs TypeScript as it is: nothing is transformed, and what is compiled stays in the
    // cache above.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.unit.test.ts'],
          testTimeout: 60_000,
          ...TOGETHER,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/**/*.integration.test.ts'],
          globalSetup: ['test/helpers/global-setup.ts'],
          // For machines that others use as well: what fails takes long, what passes does not.
          testTimeout: 300_000,
          hookTimeout: 300_000,
          ...TOGETHER,
        },
      },
      {
        test: {
          name: 'faults',
          include: ['test/faults/**/*.fault.test.ts'],
          globalSetup: ['test/faults/setup.ts'],
          testTimeout: 600_000,
          hookTimeout: 120_000,
          // One after the other: what they measure is time.
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
