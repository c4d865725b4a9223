import { chmod, chown, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeProtectedHeader } from 'jose';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newSigningKey, printKeySet, type SigningJwk } from '#shared/access/signing-key-set.ts';
import { useFolder } from '#test/folder.ts';
import { createApiClient } from '#test/api-client.ts';
import { keyEvent } from '#test/events.ts';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { startSilentProjector } from '#test/projectors.ts';
import { type ServiceProcess, startService } from '#test/service-process.ts';
import { expectRefused, runCommand, runJson } from './run-command.ts';

interface ListedKey {
  kid: string;
  state: string;
  signs_from: string | null;
  tokens_until: string | null;
}

/** Long enough to use a token on a busy machine, short enough to wait for its expiry. */
const LIFETIME_SECONDS = 5;
/** The pause between requests, for other tests on the machine. */
const PAUSE_MS = 40;

const installation = useInstallation({
  settings: { TOKEN_LIFETIME_SECONDS: String(LIFETIME_SECONDS) },
});
const folder = useFolder();
const file = join(folder, 'keys.json');
let env: Record<string, string>;
let first: SigningJwk;

beforeAll(() => {
  const { SIGNING_KEYS: _inline, ...rest } = installation.env;
  env = { ...rest, SIGNING_KEYS_FILE: file };
});
beforeEach(async () => {
  first = await newSigningKey();
  await writeFile(file, printKeySet([first]), { mode: 0o600 });
});

/** The user of the image. */
const SERVICE_USER = 65_532;

const json = (words: string) => runJson<ListedKey[]>(env, `signing-keys ${words}`);
const run = (...args: string[]) => runCommand(env, ['signing-keys', ...args]);
const fileKeys = async () =>
  (JSON.parse(await readFile(file, 'utf8')) as { keys: SigningJwk[] }).keys;

async function startQuery(): Promise<{ service: ServiceProcess; url: string }> {
  const service = startService('query', env);
  const started = await service.logged(({ msg }) => msg === 'query service started');
  return { service, url: String(started['url']) };
}

const newToken = (url: string) => createApiClient(url).token('rotating', 'secret');

const kidOf = (token: string) => decodeProtectedHeader(token).kid;

describe('signing-keys', () => {
  it('creates a file only once, without any setting', async () => {
    const path = join(folder, 'created.json');
    const create = () => runJson<{ made: boolean }>({}, ['signing-keys', 'create', path]);
    expect(await create()).toEqual({ file: path, made: true });
    const made = await readFile(path, 'utf8');
    expect(JSON.parse(made)).toMatchObject({ keys: [{ alg: 'ES256' }] });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await create()).toEqual({ file: path, made: false });
    expect(await readFile(path, 'utf8')).toBe(made);
    await rm(path);
  });

  it('rotates keys under continuous requests to two services without a refused token', async () => {
    const projector = await startSilentProjector(installation);
    await installation.publishAccess([keyEvent('rotating', 1, { scopes: ['menu'] })]);
    const [a, b] = await Promise.all([startQuery(), startQuery()]);
    await eventually(
      'the key counts',
      async () => (await newToken(a.url).catch(() => null)) !== null,
    );

    // Every token is used immediately at both services, and again shortly before it expires.
    const refused: string[] = [];
    const seen = { a: new Set<string | undefined>(), b: new Set<string | undefined>() };
    let answers = 0;
    const ended = new AbortController();
    const kept: { token: string; ends: number }[] = [];
    const use = async ({ token, ends }: (typeof kept)[number]) => {
      for (const url of [a.url, b.url]) {
        const { status } = await fetch(`${url}/api/category/list`, {
          headers: { authorization: `Bearer ${token}` },
        });
        const remainingMs = ends - Date.now();
        // An answer after the expiry may belong to a request after it.
        if (remainingMs < 0) return;
        answers += 1;
        if (status !== 200)
          refused.push(`${status} for ${kidOf(token)}, ${remainingMs} ms before its end`);
      }
    };
    const ask = async () => {
      while (!ended.signal.aborted) {
        for (const [name, url] of [
          ['a', a.url],
          ['b', b.url],
        ] as const) {
          // The lifetime counts from the request or later.
          const ends = Date.now() + LIFETIME_SECONDS * 1_000;
          const token = await newToken(url);
          seen[name].add(kidOf(token));
          kept.push({ token, ends });
          await use({ token, ends });
          await Promise.all(kept.splice(0, Math.max(0, kept.length - 20)).map(use));
          await Promise.all(kept.slice(0, 3).map(use));
          await sleep(PAUSE_MS);
        }
      }
    };
    const asking = ask();
    try {
      const rotated = await json('rotate --activate-after 7s');
      const [next] = rotated;
      expect(rotated.map(({ state }) => state)).toEqual(['waits', 'signs']);
      await eventually('both sign with the new key', () =>
        [seen.a, seen.b].every((kids) => kids.has(next?.kid)),
      );
      await expectRefused(run('retire', first.kid), /tokens of [\w-]+ may be valid until 20/);
      await eventually('the former key can be retired', async () => {
        const [, former] = await json('list');
        return Date.parse(former?.tokens_until ?? '') <= Date.now();
      });
      expect((await json(`retire ${first.kid}`)).map(({ kid }) => kid)).toEqual([next?.kid]);
      for (const { service } of [a, b]) {
        await service.logged(
          ({ msg, kids }) =>
            msg === 'signing keys read again' && Array.isArray(kids) && kids.length === 1,
        );
      }
    } finally {
      ended.abort();
      await asking;
      for (const { service } of [a, b]) service.kill('SIGTERM');
      await Promise.all([a, b].map(({ service }) => service.ended));
      await projector.stop();
    }
    expect(refused).toEqual([]);
    expect(answers).toBeGreaterThan(50);
    expect([seen.a.size, seen.b.size]).toEqual([2, 2]);
  });

  it('replaces the file atomically, and prints no private part', async () => {
    const results = [await run('rotate'), await run('list'), await run('list', '--json')];
    for (const result of results) expect(result).toMatchObject({ code: 0, stderr: '' });
    const keys = await fileKeys();
    expect(keys.map(({ kid }) => kid)).toEqual([expect.any(String), first.kid]);
    for (const { stdout } of results) {
      expect(stdout).toContain(first.kid);
      for (const { d } of keys) expect(stdout).not.toContain(d);
    }
    expect(await readdir(folder)).toEqual(['keys.json']);
    // Five minutes for slow distribution of the file to all services.
    expect((keys[0]?.nbf ?? 0) * 1_000 - Date.now()).toBeGreaterThan(200_000);
  });

  it('keeps the mode and, for root, owner and group, so that services read the file as before', async () => {
    const isRoot = process.getuid?.() === 0;
    const { uid, gid } = await stat(file);
    const owned = [isRoot ? SERVICE_USER : uid, isRoot ? SERVICE_USER : gid] as const;
    await chown(file, ...owned);
    await chmod(file, 0o640);
    await json('rotate');
    const changed = await stat(file);
    expect([changed.uid, changed.gid, changed.mode & 0o777]).toEqual([...owned, 0o640]);
  });

  it('does not change the file when it refuses', async () => {
    const [waiting] = await json('rotate');
    const before = await readFile(file, 'utf8');
    const refusals = [
      [['rotate'], 1, /already waits, and signs from 20/],
      [['rotate', '--activate-after', '2s'], 2, /at least 3 s/],
      [['retire', 'nobody'], 1, /there is no signing key nobody/],
      [['retire', first.kid], 1, /signs now/],
    ] as const;
    for (const [args, code, words] of refusals) {
      await expectRefused(run(...args), words, code);
      expect(await readFile(file, 'utf8')).toBe(before);
    }
    expect(await readdir(folder)).toEqual(['keys.json']);
    // A key that never signed can be removed immediately.
    expect(await json(`retire ${waiting?.kid ?? ''}`)).toHaveLength(1);
    expect((await run('retire', first.kid, '--force')).stderr).toMatch(/is the only key/);
  });

  it('removes a key in use only with --force', async () => {
    const second = await newSigningKey();
    await writeFile(file, printKeySet([second, first]));
    await expectRefused(run('retire', first.kid), /it is unknown when .* stopped signing/);
    expect(await json(`retire ${first.kid} --force`)).toMatchObject([
      { kid: second.kid, state: 'signs' },
    ]);
  });

  it('says what to do if another command holds the lock, or the file is missing', async () => {
    const draft = join(folder, '.keys.json.new');
    await writeFile(draft, '');
    expect((await run('rotate')).stderr).toContain(`if none is, one was killed: remove ${draft}`);
    await rm(draft);
    await rm(file);
    expect((await run('rotate')).stderr).toMatch(/cannot be read; "store-data prepare" makes it/);
    const { SIGNING_KEYS_FILE: _file, ...withoutFile } = env;
    const inVariable = { ...withoutFile, SIGNING_KEYS: printKeySet([first]) };
    for (const command of ['list', 'rotate']) {
      await expectRefused(
        runCommand(withoutFile, ['signing-keys', command]),
        'SIGNING_KEYS_FILE is not set',
      );
      const running = runCommand(inVariable, ['signing-keys', command]);
      await expectRefused(running, /are in SIGNING_KEYS.*set SIGNING_KEYS_FILE/);
      expect((await running).stderr).not.toContain(first.d);
    }
  });
});
