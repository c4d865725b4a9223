/**
 * The output of npm start: fixed lines, below them lines that change in place on a terminal, and
 * the summary when all is ready.
 */
import { join, relative } from 'node:path';
import type { WriteStream } from 'node:tty';
import { type StackFile, stackFilePath } from './files.ts';
import type { StartOptions } from './options.ts';

export type Output = Pick<WriteStream, 'write'> & {
  isTTY?: boolean;
  columns?: number;
  rows?: number;
};

export interface Screen {
  line: (text: string) => void;
  /** Replaces the changing lines; without a terminal they are written every few seconds. */
  live: (lines: readonly string[]) => void;
}

const PLAIN_INTERVAL_MS = 5_000;

/** @param isPlain changes nothing in place, also on a terminal. */
export function createScreen(
  output: Output,
  isPlain = false,
  now: () => number = Date.now,
): Screen {
  return output.isTTY === true && !isPlain ? terminal(output) : plain(output, now);
}

function terminal(output: Output): Screen {
  let wanted: readonly string[] = [];
  let drawn = 0;
  const draw = (line = '') => {
    const erase = drawn === 0 ? '' : `\r\u001B[${drawn}A\u001B[J`;
    // A line as wide as the terminal, or one more than its rows, would scroll. A terminal that does
    // not know its size says 0.
    const lines = wanted
      .slice(0, (output.rows || 24) - 1)
      .map((text) => `${text.slice(0, (output.columns || 80) - 1)}\n`);
    drawn = lines.length;
    output.write(`${erase}${line}${lines.join('')}`);
  };
  return {
    line: (text) => draw(`${text}\n`),
    live(lines) {
      wanted = lines;
      draw();
    },
  };
}

function plain(output: Output, now: () => number): Screen {
  let last = Number.NEGATIVE_INFINITY;
  return {
    line: (text) => void output.write(`${text}\n`),
    live(lines) {
      if (lines.length === 0 || now() - last < PLAIN_INTERVAL_MS) return;
      last = now();
      output.write(lines.map((text) => `${text}\n`).join(''));
    },
  };
}

/** The last fixed lines. With the changing lines they fit 24 rows. */
export function summary(options: StartOptions, file: StackFile, seconds: number): string[] {
  const rows: [string, string][] = [
    ['API', `${file.query_url} (${file.query_url}/docs in a browser)`],
    ['metrics', file.operations_urls.map((url) => `${url}/metrics`).join(' ')],
    [
      'logs',
      `${fromHere(join(options.folder, 'logs'))}, keys: ${fromHere(stackFilePath(options.folder))}`,
    ],
  ];
  return [
    '',
    `# Ready in ${seconds.toFixed(1)} s: ${describeStores(options)}.`,
    ...rows.map(([name, value]) => `#   ${name.padEnd(9)} ${value}`),
    ...requestLines(file),
    '# Ctrl-C ends everything.',
    '',
  ];
}

function fromHere(path: string): string {
  const way = relative('', path);
  return way.startsWith('..') ? path : way;
}

function describeStores({ stores, history, traffic, ordersPerMinute }: StartOptions): string {
  const flow =
    traffic && stores > 0
      ? `${ordersPerMinute.toLocaleString('en')} new ones a minute`
      : 'no new ones';
  return `${stores.toLocaleString('en')} stores with ${history.toLocaleString('en')} orders each, ${flow}`;
}

/**
 * The changes of a store, from which a client makes its copy; the store, its orders, and the
 * beginning of its long menu.
 */
const REQUESTS = [
  '"$API/api/changes?records=whole&page_size=1"',
  '$API/api/store/info/',
  '"$API/api/order/list?page_size=3"',
  '$API/api/menu/ | head -c 300',
] as const;

/**
 * Shell commands that get a token and use it. Only the line of the secret is wider than 80 columns.
 */
function requestLines({ keys: [key], query_url: url }: StackFile): string[] {
  if (key === undefined) return [];
  return [
    `# To paste into another terminal, for store ${key.store_id} in ${key.environment}:`,
    `API=${url}`,
    'TOKEN=$(curl -s -d grant_type=client_credentials $API/api/auth/token/ \\',
    `  -u ${key.client_id}:${key.client_secret} \\`,
    `  | sed -E 's/.*"access_token":"([^"]+)".*/\\1/')`,
    'AUTH="Authorization: Bearer $TOKEN"',
    '# Then these, or store-data-client in TypeScript and Python (deploy/clients):',
    ...REQUESTS.map((request) => `curl -sw '\\n' -H "$AUTH" ${request}`),
  ];
}
