/** What the screen says once everything is ready: addresses, a key, and requests to copy. */
import { join, relative } from 'node:path';
import type { StartOptions } from './options.ts';
import { type IssuedKey, type StackFile, stackFilePath } from './files.ts';
import { grouped } from './live-view.ts';

/** The lines; what was said while starting is not repeated. With what changes below them they fit 24 rows. */
export function summary(options: StartOptions, file: StackFile, seconds: number): string[] {
  const rows: [string, string][] = [
    ['API', `${file.query_url} (${file.query_url}/docs in a browser)`],
    ['metrics', file.operations_urls.map((url) => `${url}/metrics`).join(' ')],
    ['operators', `${file.operations_urls.at(-1)} in a browser`],
    ['logs', `${fromHere(join(options.folder, 'logs'))}, keys: ${fromHere(stackFilePath(options.folder))}`],
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

function requestLines(file: StackFile): string[] {
  const [key] = file.keys;
  if (key === undefined) return [];
  const { token, groups } = firstRequests(file.query_url, key);
  return [
    `# To paste into another terminal, for store ${key.store_id} in ${key.environment}:`,
    ...token,
    '',
    ...groups,
  ];
}

/** The shorter way to a path. */
function fromHere(path: string): string {
  const way = relative('', path);
  return way.startsWith('..') ? path : way;
}

function describeStores({ stores, history, traffic, ordersPerMinute }: StartOptions): string {
  const flow = traffic && stores > 0 ? `${grouped(ordersPerMinute)} new ones a minute` : 'no new ones';
  return `${grouped(stores)} stores with ${grouped(history)} orders each, ${flow}`;
}

/** One for each group of endpoints; of the menu, which fills screens, the beginning. */
const REQUESTS = [
  '$API/api/store/info/',
  '"$API/api/review/list?page_size=2"',
  '"$API/api/order/list?page_size=3"',
  '$API/api/menu/ | head -c 300',
] as const;

/** A token, and with it one request for each group of endpoints, for a shell. No line is wider than 80 columns. */
export function firstRequests(queryUrl: string, key: IssuedKey): { token: string[]; groups: string[] } {
  return {
    token: [
      `API=${queryUrl}`,
      'TOKEN=$(curl -s -d grant_type=client_credentials $API/api/auth/token/ \\',
      `  -u ${key.client_id}:${key.client_secret} \\`,
      `  | sed -E 's/.*"access_token":"([^"]+)".*/\\1/')`,
      'AUTH="Authorization: Bearer $TOKEN"',
    ],
    groups: REQUESTS.map((request) => `curl -sw '\\n' -H "$AUTH" ${request}`),
  };
}
