/** Unit tests are pure and quick; integration tests run against real servers; faults are caused by `npm run test:faults`. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.unit.test.ts'],
          testTimeout: 60_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/**/*.integration.test.ts'],
          globalSetup: ['test/helpers/global-setup.ts'],
          // For machines that others use as well: what fails takes long, what passes does not.
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
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
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
