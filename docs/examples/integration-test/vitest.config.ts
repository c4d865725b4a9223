import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: { globalSetup: ['set-up.ts'], hookTimeout: 120_000, testTimeout: 60_000 },
});
