/**
 * `npm start` from the first line to the last: its promises to a newcomer, and that it leaves
 * nothing behind.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type StackFile, stackFilePath } from '#local/start/files.ts';
import { USUAL_PORT } from '#local/start/options.ts';
import { useFolder } from '#test/folder.ts';
import { words } from '#test/words.ts';
import {
  awaitGone,
  childrenOf,
  environmentWithoutAddresses,
  type RunningStart,
  startAtUsualPort,
  startIn,
} from '#test/local-processes.ts';

const STORE_DATA = fileURLToPath(new URL('../../../../services/admin/main.ts', import.meta.url));

/** For a busy machine. */
const SOON = { timeout: 60_000, interval: 500 };

/** A block of the screen to copy: from a line that begins so to the next empty line or comment. */
function copied(output: string, beginning: string): string {
  const lines = output.split('\n');
  const first = lines.findIndex((line) => line.startsWith(beginning));
  const after = lines.findIndex((line, at) => at > first && /^(?:#|$)/.test(line));
  return lines.slice(first, after).join('\n');
}

describe('while it runs', () => {
  const project = useFolder();
  // The commands read it from there.
  const folder = join(project, '.local');
  let running: RunningStart;
  let file: StackFile;
  beforeAll(async () => {
    running = startIn(folder, ...words('--stores 2 --orders-per-minute 600 --quota 200'));
    file = await running.ready();
  });
  afterAll(async () => {
    const pids = childrenOf(running.process.pid).map(({ pid }) => pid);
    running.process.kill('SIGTERM');
    expect(await running.ended).toBe(0);
    expect(running.output()).toContain('SIGTERM: stopping');
    expect(pids.length).toBeGreaterThan(3);
    await awaitGone(pids);
    expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([]);
  });

  const README = readFileSync(new URL('../../../../README.md', import.meta.url), 'utf8');

  /**
   * Runs requests in a shell, as if pasted after those that get the token.
   * @returns one line for each.
   */
  const answersTo = (requests: string) => {
    const script = `${copied(running.output(), 'API=')}\n${requests}`;
    const lines = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).trim().split('\n');
    return lines.map((line): unknown => (line.endsWith('}') ? JSON.parse(line) : line));
  };

  test('the requests on the screen work when pasted: changes, the store, new orders and the menu', async () => {
    await vi.waitFor(() => {
      const [changes, store, orders, menu, ...more] = answersTo(copied(running.output(), 'curl'));
      expect(more).toEqual([]);
      expect(store).toMatchObject({ id: 's1', currency: 'BRL' });
      expect(changes).toMatchObject({
        results: [{ kind: expect.any(String), deleted: false }],
        more: true,
      });
      const { count, results } = orders as { count: number; results: { id: string }[] };
      expect(count).toBeGreaterThan(200);
      expect(results).toHaveLength(3);
      expect(results[0]?.id).toMatch(/^o\d+-\d+$/);
      expect(menu).toMatch(/^{"store_id":"s1".*"categories":\[{/);
      expect((menu as string).length).toBeLessThanOrEqual(300);
    }, SOON);
  });

  test('the README has the same requests, and its other requests return records', async () => {
    const asInReadme = (text: string) =>
      text
        .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
        .replace(/-u \S+/, '-u CLIENT_ID:CLIENT_SECRET');
    for (const beginning of ['API=', 'curl']) {
      expect(README).toContain(`${asInReadme(copied(running.output(), beginning))}\n`);
    }
    const paths = README.match(/(?<=`)\/api\/[^`]+(?=`)/g) ?? [];
    expect(paths.length).toBeGreaterThan(5);
    const request = (path: string) =>
      `curl -sfw '\\n' -H "Authorization: Bearer $TOKEN" '${file.query_url}${path}' || exit`;
    await vi.waitFor(() => {
      const answers = answersTo(paths.map(request).join('\n'));
      expect(answers).toHaveLength(paths.length);
      for (const answer of answers) expect(answer).not.toMatchObject({ results: [] });
    }, SOON);
  });

  test('the event of the README can be published and read', async () => {
    const [, publish = '', read = ''] =
      /```sh\n(echo [\s\S]*?)\n\n(curl .*)\n```/.exec(README) ?? [];
    const command = publish.replace(
      'npm run store-data --',
      `'${process.execPath}' '${STORE_DATA}'`,
    );
    expect(command).toContain(STORE_DATA);
    // The shared servers of the tests are not those of this run.
    const env = environmentWithoutAddresses();
    const options = { cwd: project, env, encoding: 'utf8', stdio: 'pipe' } as const;
    expect(execFileSync('sh', ['-c', command], options)).toMatch(/\b1\b/);
    const published = [{ id: 'my-order-1', total: '39.90' }];
    await vi.waitFor(() => expect(answersTo(read)).toMatchObject(published), SOON);
  });

  test('stack.json has addresses and keys, readable only by its owner', () => {
    expect(statSync(stackFilePath(folder)).mode & 0o777).toBe(0o600);
    expect(Object.keys(file).toSorted()).toEqual(
      words('environments kafka_brokers keys mongodb_uri operations_urls query_url redis_url'),
    );
    expect(file.environments).toEqual(['production', 'sandbox']);
    expect(file.keys.map(({ environment, store_id }) => `${environment}/${store_id}`)).toEqual(
      words('production/s1 production/s2 sandbox/s1 sandbox/s2 production/s1'),
    );
  });

  test.each(['query', 'projector'])('restarts a killed %s at the same address', async (name) => {
    const killed = childrenOf(running.process.pid).find(({ command }) =>
      command.includes(`${name}/main.ts`),
    );
    if (killed === undefined) throw new Error(`there is no ${name}`);
    process.kill(killed.pid, 'SIGKILL');
    await vi.waitFor(() => expect(running.output()).toContain(`${name} is back`), 60_000);
    expect(running.output()).toContain(
      `${name} is gone: it was killed by SIGKILL. Starting it again`,
    );
    expect((await fetch(`${file.query_url}/health`)).status).toBe(200);
    for (const url of file.operations_urls) expect((await fetch(`${url}/live`)).status).toBe(200);
  });
});

describe('every exit', () => {
  const folder = useFolder({ ofEachTest: true });

  test('a kill leaves no process, no secret and no used address behind', async () => {
    // The default port is in use, by this test or another program.
    const taken = createServer().on('error', () => undefined);
    onTestFinished(() => void taken.close());
    taken.listen(USUAL_PORT, '127.0.0.1');
    const running = startAtUsualPort(folder, ...words('--stores 1 --history 0 --no-traffic'));
    onTestFinished(() => void running.process.kill('SIGKILL'));
    const { query_url: url } = await running.ready();
    expect(Number(new URL(url).port)).not.toBe(USUAL_PORT);
    expect((await fetch(`${url}/health`)).status).toBe(200);
    const pids = childrenOf(running.process.pid).map(({ pid }) => pid);
    running.process.kill('SIGKILL');
    await running.ended;
    await awaitGone(pids);
    await vi.waitFor(
      () => expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([]),
      60_000,
    );
  });

  test('a server that dies ends it with the server’s last log lines and exit code 1', async () => {
    const running = startIn(folder, ...words('--stores 1 --history 0 --keep-data'));
    onTestFinished(() => void running.process.kill('SIGKILL'));
    await running.ready();
    const children = childrenOf(running.process.pid);
    const redis = children.find(({ command }) => /redis-server/.test(command));
    // A container is not a child process.
    if (redis === undefined) return;
    process.kill(redis.pid, 'SIGKILL');
    expect(await running.ended).toBe(1);
    expect(running.output()).toContain('redis is gone: it was killed by SIGKILL');
    await awaitGone(children.map(({ pid }) => pid));
    expect(existsSync(stackFilePath(folder))).toBe(false);
    expect(existsSync(join(folder, 'signing-keys.json'))).toBe(true);
  });
});

describe('a failed start', () => {
  const folder = useFolder({ ofEachTest: true });

  test('says immediately that the given port is in use', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void taken.close());
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const running = startIn(folder, '--port', String(port));
    expect(await running.ended).toBe(1);
    expect(running.output()).toMatch(
      new RegExp(`the API cannot listen on port ${port}: .*EADDRINUSE`),
    );
    expect(readdirSync(folder)).toEqual([]);
  });

  test('keeps the logs of started processes, and says where they are', async () => {
    vi.stubEnv('QUERY_TLS_CERT_FILE', '/nowhere/cert.pem');
    vi.stubEnv('QUERY_TLS_KEY_FILE', '/nowhere/key.pem');
    const running = startIn(folder, '--stores', '1', '--history', '0');
    vi.unstubAllEnvs();
    expect(await running.ended).toBe(1);
    expect(running.output()).toContain('query did not start');
    expect(running.output()).toContain(`Logs: ${join(folder, 'logs')}`);
    expect(readFileSync(join(folder, 'logs/query.log'), 'utf8')).toContain('/nowhere/');
  });
});
