// The package cache: verified at every use, repaired when damaged, never incomplete.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ensurePackage, type Package, runTool } from '#local/stack/fetch.ts';
import { dataFolderAt, type StartContext } from '#local/stack/part.ts';
import { type Guard, startGuard } from '#local/stack/process.ts';
import { useFolder } from '#test/folder.ts';

const folder = useFolder({ ofEachTest: true });
let guard: Guard;
let context: StartContext;
beforeEach(() => {
  guard = startGuard();
  context = {
    env: { ...process.env, STORE_DATA_CACHE: join(folder, 'cache') },
    log: () => undefined,
    guard,
    folder: dataFolderAt(join(folder, 'data')),
    keepData: false,
  };
});
afterEach(async () => {
  await guard.close();
});

/** A package of one file, whose download may differ from its checksum. */
function makePackage(content: string, fetched = content): Package & { fetches: number } {
  const checksums = join(folder, 'server.sha256');
  writeFileSync(checksums, `${createHash('sha256').update(content).digest('hex')}  server\n`);
  return {
    title: 'server 1',
    name: 'server-1',
    checksums,
    downloadBytes: content.length,
    fetches: 0,
    fetch(target) {
      this.fetches++;
      writeFileSync(join(target, 'server'), fetched);
      return Promise.resolve();
    },
  };
}

test('a package is downloaded once', async () => {
  const wanted = makePackage('the server');
  const first = await ensurePackage(wanted, context);
  expect(readFileSync(join(first, 'server'), 'utf8')).toBe('the server');
  expect(await ensurePackage(wanted, context)).toBe(first);
  expect(wanted.fetches).toBe(1);
});

test.each([
  ['a flipped byte', (file: string) => writeFileSync(file, 'thE server')],
  ['a missing file', (file: string) => rmSync(file)],
])(
  'a package is fetched again after %s in the cache, also by several at once',
  async (_, damage) => {
    const wanted = makePackage('the server');
    const cached = await ensurePackage(wanted, context);
    damage(join(cached, 'server'));
    const several = Array.from({ length: 4 }, () => ensurePackage(wanted, context));
    expect(new Set(await Promise.all(several))).toEqual(new Set([cached]));
    expect(readFileSync(join(cached, 'server'), 'utf8')).toBe('the server');
    expect(readdirSync(join(folder, 'cache'))).toHaveLength(1);
  },
);

test('a package is refused when its checksum differs, and leaves nothing in the cache', async () => {
  const wanted = makePackage('the server', 'another server');
  await expect(ensurePackage(wanted, context)).rejects.toThrow(
    'the download is not server 1: server differs',
  );
  expect(readdirSync(join(folder, 'cache'))).toEqual([]);
});

test('the cache keeps nothing of a download whose process ends', async () => {
  const begun = Promise.withResolvers<void>();
  const unfinished = {
    ...makePackage('the server'),
    fetch(target: string) {
      writeFileSync(join(target, 'server'), 'the');
      begun.resolve();
      return new Promise<void>(() => undefined);
    },
  };
  void ensurePackage(unfinished, context);
  await begun.promise;
  await guard.close();
  expect(existsSync(join(folder, 'cache'))).toBe(false);
});

test('a package is complete for parallel downloads', async () => {
  const wanted = makePackage('the server');
  await Promise.all(Array.from({ length: 8 }, () => ensurePackage(wanted, context)));
  expect(readdirSync(join(folder, 'cache'))).toHaveLength(1);
});

test('a tool that fails is told in a line, and keeps the rest in a log', async () => {
  const args = ['-c', 'echo "ERROR: No space left on device\nbye"; exit 3'];
  await expect(runTool({ file: 'sh', args, env: context.env }, folder, context)).rejects.toThrow(
    /^ERROR: No space left on device \(\S+\.log has what sh said\)$/,
  );
});
