/** A service as a process: its start, its restarts and its end, with small programs in the place of services. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Service } from '#local/start/service.ts';
import { type Guard, startGuard } from '#local/stack/program/guard.ts';
import { awaitGone } from '../stack/processes.ts';

const SAY_READY =
  "console.log(JSON.stringify({ url: 'http://127.0.0.1:' + (process.env.QUERY_PORT ?? '4711'), operations: 'http://127.0.0.1:4712' }));";

let folder: string;
let guard: Guard;
let said: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'store-data-service-test-'));
  guard = startGuard();
  said = [];
});
afterEach(async () => {
  await guard.close();
  rmSync(folder, { recursive: true, force: true });
});

function service(program: string): Service {
  const file = join(folder, 'service.mjs');
  writeFileSync(file, program);
  return new Service({
    name: 'example',
    file,
    env: { PATH: process.env['PATH'] },
    logFile: join(folder, 'service.log'),
    guard,
    log: (line) => said.push(line),
    firstPauseMs: 20,
  });
}

test('says where it listens, and ends when asked to', async () => {
  const running = service(`${SAY_READY} setInterval(() => {}, 1_000);`);
  expect(await running.start()).toEqual({
    url: 'http://127.0.0.1:4711',
    operations: 'http://127.0.0.1:4712',
  });
  const pid = await running.pid();
  await running.stop();
  await awaitGone([pid ?? 0]);
  expect(said).toEqual([]);
});

test('one that ends before it is ready is a failure that quotes its last words', async () => {
  const failing = service("console.error('example: KAFKA_BROKERS is required'); process.exit(3);");
  await expect(failing.start()).rejects.toThrow(
    'example did not start: it ended with code 3\n    example: KAFKA_BROKERS is required',
  );
  await failing.stop();
});

test('stopped while it starts, it ends at once', async () => {
  const silent = service('setInterval(() => {}, 1_000);');
  const starting = silent.start();
  starting.catch(() => undefined);
  await vi.waitFor(async () => expect(await silent.pid()).not.toBeNull());
  const pid = await silent.pid();
  await silent.stop();
  await expect(starting).rejects.toThrow('example did not start');
  await awaitGone([pid ?? 0]);
});

test('one that dies again and again is started again after longer and longer pauses', async () => {
  const short = service(`${SAY_READY} setTimeout(() => process.exit(9), 300);`);
  await short.start();
  await vi.waitFor(() => expect(said.length).toBeGreaterThan(5), 10_000);
  await short.stop();
  expect(said.slice(0, 6)).toEqual([
    'example is gone: it ended with code 9. Starting it again in 0.02 s',
    'example is back',
    'example is gone: it ended with code 9. Starting it again in 0.04 s',
    'example is back',
    'example is gone: it ended with code 9. Starting it again in 0.08 s',
    'example is back',
  ]);
});
