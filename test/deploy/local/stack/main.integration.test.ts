// The stack command as a process: however it ends, it leaves no process and no file.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test, vi } from 'vitest';
import { cacheFolder } from '#local/stack/fetch.ts';
import type { Stack } from '#local/stack/stack.ts';
import { awaitGone, environmentWithoutAddresses } from '#test/local-processes.ts';
import { testableSources } from './sources.ts';
import { useFolder } from '#test/folder.ts';

const MAIN = fileURLToPath(import.meta.resolve('#local/stack/main.ts'));

// A test starts several servers on a machine that runs other tests.
vi.setConfig({ testTimeout: 180_000 });

const folder = useFolder({ ofEachTest: true });

type Main = ChildProcessByStdio<null, Readable, null>;

function run(args: string[], env: NodeJS.ProcessEnv = {}): Main {
  const child = spawn(process.execPath, [MAIN, '--json', ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...environmentWithoutAddresses(), STACK_SOURCE: 'program', ...env },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

async function awaitServers(main: Main): Promise<number[]> {
  for await (const line of createInterface({ input: main.stdout })) {
    const { pids } = JSON.parse(line) as Pick<Stack, 'pids'>;
    return Object.values(pids).flat();
  }
  throw new Error('it ended without a line');
}

const programTest = test.runIf((await testableSources()).includes('program'));

programTest('a part that dies ends the others, with an exit code', async () => {
  const main = run(['--data', join(folder, 'data')]);
  const pids = await awaitServers(main);
  expect(pids).toHaveLength(3);
  process.kill(pids[0] ?? 0, 'SIGKILL');
  expect(await once(main, 'exit')).toEqual([1, null]);
  await awaitGone(pids);
});

programTest(
  'one is killed while three fetch into the same cache; SIGINT and a kill end the others: whole packages, and nothing left',
  async () => {
    const cache = join(folder, 'cache');
    mkdirSync(cache);
    // Kafka is by far the slowest, and is downloaded in the same way as the others.
    const kept = cacheFolder(process.env);
    const seeded = existsSync(kept)
      ? readdirSync(kept).filter((name) => name.startsWith('kafka-'))
      : [];
    for (const name of seeded) symlinkSync(join(kept, name), join(cache, name));
    const start = (name: string) =>
      run(['--data', join(folder, name)], { STORE_DATA_CACHE: cache });
    const [signalled, killed, interrupted] = [start('a'), start('b'), start('c')];
    await vi.waitUntil(() => readdirSync(cache).length >= seeded.length + 3, {
      timeout: 60_000,
      interval: 20,
    });
    interrupted.kill('SIGKILL');
    const pids = (await Promise.all([signalled, killed].map(awaitServers))).flat();
    expect(pids).toHaveLength(6);
    signalled.kill('SIGINT');
    expect(await once(signalled, 'exit')).toEqual([0, null]);
    expect(existsSync(join(folder, 'a'))).toBe(false);
    killed.kill('SIGKILL');
    await awaitGone(pids);
    // The guardian processes remove partial downloads and the data.
    await vi.waitUntil(() => ['a', 'b', 'c'].every((name) => !existsSync(join(folder, name))), {
      timeout: 60_000,
    });
    const packages = readdirSync(cache).map((name) => name.replace(/-[^-]*$/, ''));
    expect(packages).toEqual([...new Set(packages)]);
    expect(packages.filter((name) => name.startsWith('.'))).toEqual([]);
  },
);
