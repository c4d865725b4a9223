/** A folder for the tests of a file or a group, or a new one for each of them. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';

/** Its path; it is there once the tests run, and removed after them. */
export function useFolder({ ofEachTest = false } = {}): string {
  // Short: servers have sockets in there, whose paths have a bound.
  const path = join(tmpdir(), `store-data-${randomBytes(6).toString('hex')}`);
  const [before, after] = ofEachTest ? [beforeEach, afterEach] : [beforeAll, afterAll];
  before(() => mkdirSync(path, { mode: 0o700 }));
  after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
