import { chmod, chown, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeProtectedHeader } from 'jose';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newSigningKey, printKeySet, type SigningJwk } from '#shared/access/signing-key-set.ts';
import { useFolder } from '#test/folder.ts';
import { createApiClient } from '#test/api-client.ts';
import { keyEvent } from '#test/events.ts';
import { useInstallation, useProjector } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { killAll, listening, startService } from '#test/service-process.ts';
import { expectRefused, runCommand, runJson } from './run-command.ts';

interface ListedKey {
  kid: string;
  state: string;
  tokens_until: string | null;
}

/** Long enough to use a token on a busy machine, short enough to wait for its expiry. */
const LIFETIME_SECONDS = 5;
/** The pause between requests, for other tests on the machine. */
const PAUSE_MS = 40;

const installation = useInstallation({
  settings: { TOKEN_LIFETIME_SECONDS: String(LIFETIME_SECONDS) },
});
useProjector(installation);
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
const run = (words: string, of = env) => runCommand(of, `signing-keys ${words}`);
const kidOf = (token: string) => decodeProtectedHeader(token).kid ?? '';

describe('signing-keys', () => {
  it('creates a file only once, without any setting', async () => {
    const path = join(folder, 'created.json');
    const create = () => runJson({}, `signing-keys create ${path}`);
    expect(await create()).toEqual({ file: path, made: true });
    expect(await create()).toEqual({ file: path, made: false });
    await rm(path);
  });

  it('rotates keys under continuous requests to two services without a refused token', async () => {
    await installation.publishAccess([keyEvent('rotating', 1, { scopes: ['menu'] })]);
    const services = [startService('query', env), startService('query', env)];
    const urls = (await Promise.all(services.map(listening))).map(({ url }) => url);
    const asked = urls.map((url) => ({ api: createApiClient(url), kids: new Set<string>() }));
    await eventually('the key counts', async () => {
      return (await asked[0]?.api.askToken('rotating', 'secret'))?.status === 200;
    });

    const refused: string[] = [];
    let answers = 0;
    const use = async (token: string, ends: number) => {
      for (const { api } of asked) {
        const { status } = await api.get('/api/category/list', token);
        const remainingMs = ends - Date.now();
        // An answer after the expiry may belong to a request after it.
        if (remainingMs < 0) return;
        answers += 1;
        if (status !== 200)
          refused.push(`${status} for ${kidOf(token)}, ${remainingMs} ms before its end`);
      }
    };
    const ended = new AbortController();
    // Every token is used immediately at both services, and again shortly before it expires.
    const later: Promise<void>[] = [];
    const ask = async () => {
      while (!ended.signal.aborted) {
        for (const { api, kids } of asked) {
          // The lifetime counts from the request or later.
          const ends = Date.now() + LIFETIME_SECONDS * 1_000;
          const token = await api.token('rotating', 'secret');
          kids.add(kidOf(token));
          await use(token, ends);
          later.push(sleep(ends - 1_000 - Date.now()).then(() => use(token, ends)));
        }
        await sleep(PAUSE_MS);
      }
    };
    const asking = ask();
    try {
      const rotated = await json('rotate --activate-after 7s');
      const [next = { kid: '' }] = rotated;
      expect(rotated.map(({ state }) => state)).toEqual(['waits', 'signs']);
      await eventually('both sign with the new key', () =>
        asked.every(({ kids }) => kids.has(next.kid)),
      );
      await expectRefused(run(`retire ${first.kid}`), /tokens of [\w-]+ may be valid until 20/);
      await eventually('the former key can be retired', async () => {
        const [, former] = await json('list');
        return Date.parse(former?.tokens_until ?? '') <= Date.now();
      });
      expect((await json(`retire ${first.kid}`)).map(({ kid }) => kid)).toEqual([next.kid]);
      for (const { logged } of services) {
        await logged(
          ({ msg, kids }) =>
            msg === 'signing keys read again' && Array.isArray(kids) && kids.length === 1,
        );
      }
    } finally {
      ended.abort();
      await asking;
      await Promise.all(later);
      await killAll(services);
    }
    expect(refused).toEqual([]);
    expect(answers).toBeGreaterThan(50);
    expect(asked.map(({ kids }) => kids.size)).toEqual([2, 2]);
  });

  it('replaces the file atomically, and prints no private part', async () => {
    const results = [await run('rotate'), await run('list'), await run('list --json')];
    const { keys } = JSON.parse(await readFile(file, 'utf8')) as { keys: SigningJwk[] };
    expect(keys.map(({ kid }) => kid)).toEqual([expect.any(String), first.kid]);
    for (const { code, stdout, stderr } of results) {
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toContain(first.kid);
      for (const { d } of keys) expect(stdout).not.toContain(d);
    }
    expect(await readdir(folder)).toEqual(['keys.json']);
    // Five minutes for slow distribution of the file to all services.
    expect((keys[0]?.nbf ?? 0) * 1_000 - Date.now()).toBeGreaterThan(200_000);
  });

  it('keeps the mode and, for root, owner and group, so that services read the file as before', async () => {
    const ofImage = { uid: SERVICE_USER, gid: SERVICE_USER };
    const { uid, gid } = process.getuid?.() === 0 ? ofImage : await stat(file);
    await chown(file, uid, gid);
    await chmod(file, 0o640);
    await json('rotate');
    const changed = await stat(file);
    expect([changed.uid, changed.gid, changed.mode & 0o777]).toEqual([uid, gid, 0o640]);
  });

  it('does not change the file when it refuses', async () => {
    const [waiting] = await json('rotate');
    const before = await readFile(file, 'utf8');
    for (const [words, code, reason] of [
      ['rotate', 1, /already waits, and signs from 20/],
      ['rotate --activate-after 2s', 2, /at least 3 s/],
      ['retire nobody', 1, /there is no signing key nobody/],
      [`retire ${first.kid}`, 1, /signs now/],
    ] as const) {
      await expectRefused(run(words), reason, code);
      expect(await readFile(file, 'utf8')).toBe(before);
    }
    expect(await readdir(folder)).toEqual(['keys.json']);
    // A key that never signed can be removed immediately.
    expect(await json(`retire ${waiting?.kid ?? ''}`)).toHaveLength(1);
    await expectRefused(run(`retire ${first.kid} --force`), 'is the only key');
  });

  it('removes a key in use only with --force', async () => {
    const second = await newSigningKey();
    await writeFile(file, printKeySet([second, first]));
    await expectRefused(run(`retire ${first.kid}`), /it is unknown when .* stopped signing/);
    expect(await json(`retire ${first.kid} --force`)).toMatchObject([
      { kid: second.kid, state: 'signs' },
    ]);
  });

  it('says what to do if another command holds the lock, or the keys are in no file', async () => {
    const draft = join(folder, '.keys.json.new');
    await writeFile(draft, '');
    await expectRefused(run('rotate'), `if none is, one was killed: remove ${draft}`);
    await rm(draft);
    await rm(file);
    await expectRefused(run('rotate'), 'cannot be read; "store-data prepare" makes it');
    const withoutFile = { ...env, SIGNING_KEYS_FILE: '' };
    await expectRefused(run('rotate', withoutFile), 'SIGNING_KEYS_FILE is not set');
    const inVariable = run('list', { ...withoutFile, SIGNING_KEYS: printKeySet([first]) });
    await expectRefused(inVariable, /are in SIGNING_KEYS.*set SIGNING_KEYS_FILE/);
    expect((await inVariable).stderr).not.toContain(first.d);
  });
});
