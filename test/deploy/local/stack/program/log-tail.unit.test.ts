// The end of a log.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { lastLines } from '#local/stack/program/log-tail.ts';

function logWith(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'store-data-log-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'x.log');
  writeFileSync(file, text);
  return file;
}

test('has the last lines that say something', () => {
  expect(lastLines(logWith('one\n\ntwo \nthree\n\n'), 2)).toEqual(['two', 'three']);
});

test('is found in a long log too', () => {
  const text = Array.from({ length: 10_000 }, (_, index) => `line ${index}\n`).join('');
  expect(lastLines(logWith(text), 1)).toEqual(['line 9999']);
});

test('of no log is empty', () => {
  expect(lastLines('/nowhere/x.log')).toEqual([]);
});
