/** The files in the folder: readable by their owner alone, complete whenever they are there. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadSigningKeys } from '#query/token/signing-keys.ts';
import { readConfig } from '#shared/config.ts';
import {
  prepareSigningKey,
  removeStackFile,
  type StackFile,
  stackFilePath,
  writeStackFile,
} from '#local/start/files.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'store-data-start-test-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const modeOf = (path: string) => statSync(path).mode & 0o777;

test('stack.json is written whole, for its owner alone, and removed', async () => {
  const content: StackFile = {
    query_url: 'http://127.0.0.1:1',
    operations_urls: [],
    kafka_brokers: [],
    mongodb_uri: 'mongodb://x',
    redis_url: 'redis://x',
    environments: ['production'],
    keys: [],
  };
  await writeStackFile(folder, content);
  expect(JSON.parse(readFileSync(stackFilePath(folder), 'utf8'))).toEqual(content);
  expect(modeOf(stackFilePath(folder))).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['stack.json']);
  await removeStackFile(folder);
  await removeStackFile(folder);
  expect(readdirSync(folder)).toEqual([]);
});

test('a signing key is made that the query service takes, and kept only if data is kept', async () => {
  const path = await prepareSigningKey(folder, false);
  expect(modeOf(path)).toBe(0o600);
  const config = readConfig({
    KAFKA_BROKERS: 'x:1',
    MONGODB_URI: 'mongodb://x',
    REDIS_URL: 'redis://x',
    SIGNING_KEYS_FILE: path,
  });
  const { kid } = (await loadSigningKeys(config.tokens)).signing;
  await prepareSigningKey(folder, true);
  expect((await loadSigningKeys(config.tokens)).signing.kid).toBe(kid);
  await prepareSigningKey(folder, false);
  expect((await loadSigningKeys(config.tokens)).signing.kid).not.toBe(kid);
});
