// The package cache: verified at every use, repaired when damaged, never incomplete.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ensurePackage, type Package, runTool } from '#local/stack/fetch.ts';
import type { StartContext } from '#local/stack/part.ts';
import { useFolder } from '#test/folder.ts';
import { times } from '#test/times.ts';
import { type Home, makeHome } from '../../../../faults/servers/home.ts';

const folder = useFolder({ ofEachTest: true });
let home: Home;
let context: StartContext;
beforeEach(async () => {
  home = await makeHome();
  const env = { ...process.env, STORE_DATA_CACHE: join(folder, 'cache') };
  context = { ...home.context, env };
});
afterEach(() => home.close());

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
  ['a missing folder', (file: string) => rmSync(dirname(file), { recursive: true })],
])('a package is fetched again after %s in the cache, by several at once', async (_, damage) => {
  const wanted = makePackage('the server');
  const cached = await ensurePackage(wanted, context);
  damage(join(cached, 'server'));
  const several = times(8, () => ensurePackage(wanted, context));
  expect(new Set(await Promise.all(several))).toEqual(new Set([cached]));
  expect(readFileSync(join(cached, 'server'), 'utf8')).toBe('the server');
  expect(readdirSync(join(folder, 'cache'))).toHaveLength(1);
});

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
  await context.guard.close();
  expect(existsSync(join(folder, 'cache'))).toBe(false);
});

test('a tool that fails is told in a line, and keeps the rest in a log', async () => {
  const args = ['-c', 'echo "ERROR: No space left on device\nbye"; exit 3'];
  await expect(runTool({ file: 'sh', args, env: context.env }, folder, context)).rejects.toThrow(
    /^ERROR: No space left on device \(\S+\.log has what sh said\)$/,
  );
});
