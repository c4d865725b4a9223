// Free ports, and those of last time.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { freePorts, savedPorts } from '#local/stack/program/ports.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'store-data-ports-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('all ports are different', async () => {
  expect(new Set(await freePorts(20)).size).toBe(20);
});

test('where ports above them are to be free too, there are such', async () => {
  const ports = await freePorts(6, 10_000);
  expect(new Set(ports).size).toBe(6);
  expect(Math.max(...ports)).toBeLessThanOrEqual(65_535 - 10_000);
});

test('the same ports come again while they are free', async () => {
  const file = join(folder, 'ports.json');
  const first = await savedPorts(file, 2);
  expect(await savedPorts(file, 2)).toEqual(first);
});

test('others come when one of them was taken, and are remembered then', async () => {
  const file = join(folder, 'ports.json');
  const first = await savedPorts(file, 2);
  const other = createServer().listen(first[1], '127.0.0.1');
  await once(other, 'listening');
  const second = await savedPorts(file, 2);
  other.close();
  expect(second).not.toEqual(first);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(second);
});
