/**
 * `npm run picture`: the picture in the README, of a real run. Starts everything on a terminal of 80×24, sends requests for half a
 * minute, and writes the screen to `docs/start.svg`. It needs `script` of util-linux.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import xterm from '@xterm/headless';
import { type IssuedKey, type StackFile, stackFilePath } from '../start/files.ts';
import { USUAL_PORT } from '../start/options.ts';
import { terminalPicture } from './svg.ts';

const [COLUMNS, ROWS] = [80, 24];
const START = join(import.meta.dirname, '../start.js');
const PICTURE = join(import.meta.dirname, '../../../docs/start.svg');
const READY_LIMIT_MS = 300_000;
const REQUESTS_MS = 30_000;
const PAUSE_MS = 60;

const project = await mkdtemp(join(tmpdir(), 'store-data-picture-'));
const folder = join(project, '.local');
const terminal = new xterm.Terminal({ cols: COLUMNS, rows: ROWS, allowProposedApi: true });
const inTerminal = `stty cols ${COLUMNS} rows ${ROWS}; exec "${process.execPath}" "${START}" --folder "${folder}"`;
const running = spawn('script', ['-qfec', inTerminal, '/dev/null'], {
  cwd: project,
  stdio: ['pipe', 'pipe', 'inherit'],
});
running.stdout.on('data', (bytes: Buffer) => terminal.write(bytes));
const ended = new Promise((resolve, reject) => running.on('close', resolve).on('error', reject));
try {
  const { query_url: url, keys } = await Promise.race([stackFile(), ended.then(failed)]);
  const [key] = keys;
  if (key === undefined) throw new Error('there is no key');
  await sendRequests(url, key);
  const rows = seen()
    .map((row) => row.replace(/-u \S+/, '-u CLIENT_ID:CLIENT_SECRET'))
    .map((row) => row.replaceAll(url, `http://127.0.0.1:${USUAL_PORT}`));
  await writeFile(PICTURE, terminalPicture('npm start', rows, COLUMNS));
} finally {
  running.stdin.write('\u0003');
  await ended;
  await rm(project, { recursive: true, force: true });
}

async function stackFile(): Promise<StackFile> {
  const limit = Date.now() + READY_LIMIT_MS;
  for (;;) {
    const text = await readFile(stackFilePath(folder), 'utf8').catch(() => null);
    if (text !== null) return JSON.parse(text) as StackFile;
    if (Date.now() > limit) return failed();
    await sleep(200);
  }
}

function failed(): never {
  throw new Error(`it did not become ready:\n${seen().join('\n')}`);
}

/** What somebody would see now. */
function seen(): string[] {
  const { active } = terminal.buffer;
  const rows = Array.from({ length: ROWS }, (_, row) => active.getLine(active.viewportY + row));
  return rows.map((row) => row?.translateToString(true) ?? '');
}

/** As an integration would: a token, and then pages of orders. */
async function sendRequests(url: string, { client_id: id, client_secret: secret }: IssuedKey): Promise<void> {
  const answer = await fetch(`${url}/api/auth/token/`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token: token } = (await answer.json()) as { access_token: string };
  const end = Date.now() + REQUESTS_MS;
  for (let count = 1; Date.now() < end; count += 1) {
    const page = await fetch(`${url}/api/order/list?page=${count % 9 || 1}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    await page.arrayBuffer();
    await sleep(PAUSE_MS * (1 + (Math.floor(count / 40) % 3)));
  }
}
