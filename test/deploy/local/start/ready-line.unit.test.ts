/** The line that says a service is ready, found in its log as it grows. */
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { awaitReadyLine, readReadyLine } from '#local/start/ready-line.ts';

const READY = '{"level":30,"url":"http://127.0.0.1:1","operations":"http://127.0.0.1:2","msg":"started"}';

let file: string;
beforeEach(() => {
  file = join(mkdtempSync(join(tmpdir(), 'store-data-ready-test-')), 'service.log');
});
afterEach(() => rmSync(join(file, '..'), { recursive: true, force: true }));

test('is found, even when it is written piece by piece', async () => {
  writeFileSync(file, 'no JSON\n{"level":30,"msg":"other"}\n');
  const found = awaitReadyLine(file, 0, AbortSignal.timeout(50_000));
  appendFileSync(file, READY.slice(0, 20));
  await sleep(100);
  appendFileSync(file, `${READY.slice(20)}\n`);
  expect(await found).toEqual({ url: 'http://127.0.0.1:1', operations: 'http://127.0.0.1:2' });
});

test('that of an earlier process does not count', async () => {
  writeFileSync(file, `${READY}\n`);
  await expect(awaitReadyLine(file, READY.length + 1, AbortSignal.timeout(200))).rejects.toThrow();
});

test('other lines are none', () => {
  expect(readReadyLine('{"url":"http://127.0.0.1:2","msg":"operations server listens"}')).toBeNull();
  expect(readReadyLine('{"operations":7}')).toBeNull();
  expect(readReadyLine('"operations"')).toBeNull();
});
