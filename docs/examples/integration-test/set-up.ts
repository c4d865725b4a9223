/** One Store Data API for all test files of a run. */
import { type Connection, startStoreData } from 'store-data-api/testing';
import type { TestProject } from 'vitest/node';
import { fixtures } from './fixtures.ts';

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const api = await startStoreData({ fixtures });
  project.provide('storeData', api.connection);
  return api.stop;
}

declare module 'vitest' {
  interface ProvidedContext {
    storeData: Connection;
  }
}
