// A data folder belongs to one stack at a time, also after owners that were killed.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { dataFolderAt } from '#local/stack/folder/data-folder.ts';
import { claimFolder } from '#local/stack/folder/owner.ts';

let path: string;
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'store-data-owner-'));
});
afterEach(() => rmSync(path, { recursive: true }));

/** The id of a process that has ended. */
function endedPid(): number {
  return spawnSync('true').pid;
}

test('a folder whose owner lives is refused', async () => {
  const folder = dataFolderAt(path);
  await claimFolder(folder, process.pid);
  await expect(claimFolder(folder, process.pid)).rejects.toThrow(
    `process ${process.pid} runs a stack in ${path}`,
  );
});

test('a folder that cannot be made is told, with the option that names another one', async () => {
  const below = dataFolderAt(join(path, 'file', 'folder'));
  writeFileSync(join(path, 'file'), '');
  await expect(claimFolder(below, process.pid)).rejects.toThrow(/ENOTDIR.*: npm start -- --folder <path>/);
});

test('a folder that was given back is free', async () => {
  const folder = dataFolderAt(path);
  await claimFolder(folder, process.pid);
  rmSync(folder.ownerFile);
  await claimFolder(folder, process.pid);
});

test('a dead owner, or a later process with its id, does not count', async () => {
  const folder = dataFolderAt(path);
  const dead = { pid: endedPid(), started: '1' };
  writeFileSync(folder.ownerFile, JSON.stringify({ owner: dead, guardian: dead }));
  await claimFolder(folder, process.pid);
  const earlier = { pid: process.pid, started: '1' };
  writeFileSync(folder.ownerFile, JSON.stringify({ owner: earlier, guardian: dead }));
  await claimFolder(folder, process.pid);
});

test('an owner file that was cut short does not count', async () => {
  const folder = dataFolderAt(path);
  writeFileSync(folder.ownerFile, '{"owner":');
  await claimFolder(folder, process.pid);
});
