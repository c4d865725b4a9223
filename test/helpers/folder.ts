/** Makes a temporary folder for a group of tests, or for each test. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';

/** The path, set before the tests run. */
export function useFolder({ ofEachTest = false } = {}): string {
  // Short, since socket paths have a maximum length.
  const path = join(tmpdir(), `store-data-${randomBytes(6).toString('hex')}`);
  const [before, after] = ofEachTest ? [beforeEach, afterEach] : [beforeAll, afterAll];
  before(() => mkdirSync(path, { mode: 0o700 }));
  after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
