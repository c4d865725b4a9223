/** What the screen says once everything is ready: parts, addresses, a key, and requests to copy. */
import type { Stack } from '#local/stack/stack.ts';
import { shownAddress } from '#shared/address.ts';
import type { StartOptions } from './options.ts';
import { type IssuedKey, type StackFile, stackFilePath } from './files.ts';
import { grouped } from './live-line.ts';

/** The lines; what was said while starting is not repeated. */
export function summary(
  { options, stack, file }: { options: StartOptions; stack: Stack; file: StackFile },
  seconds: number,
): string[] {
  const [queryOperations = '', projectorOperations = ''] = file.operations_urls;
  const rows: [string, string][] = [
    ['API', file.query_url],
    ['metrics', `${queryOperations}/metrics (query), ${projectorOperations}/metrics (projector)`],
    ['Kafka', `${shownAddress(file.kafka_brokers.join(','))} (${sourceOf(stack, 'kafka')})`],
    ['MongoDB', `${shownAddress(file.mongodb_uri)} (${sourceOf(stack, 'mongodb')})`],
    ['Redis', `${shownAddress(file.redis_url)} (${sourceOf(stack, 'redis')})`],
    ['logs', `${options.folder}/logs`],
    ['all keys', stackFilePath(options.folder)],
  ];
  return [
    '',
    `Ready in ${seconds.toFixed(1)} s: ${describeStores(options)}.`,
    '',
    ...rows.map(([name, value]) => `  ${name.padEnd(9)} ${value}`),
    ...requestLines(file),
    '',
    'Ctrl-C ends everything.',
    '',
  ];
}

function requestLines(file: StackFile): string[] {
  const [key] = file.keys;
  if (key === undefined) return [];
  const { token, groups } = firstRequests(file.query_url, key);
  return [
    '',
    `Store ${key.store_id}, ${key.environment}. Get a token:`,
    '',
    ...token,
    '',
    'The store, its newest reviews, its newest orders, its menu:',
    '',
    ...groups,
  ];
}

function describeStores({ stores, history, traffic, ordersPerMinute }: StartOptions): string {
  const flow = traffic && stores > 0 ? `${grouped(ordersPerMinute)} new ones a minute` : 'no new ones';
  return `${grouped(stores)} stores with ${grouped(history)} orders each, ${flow}`;
}

function sourceOf(stack: Stack, name: Stack['parts'][number]['name']): string {
  return stack.parts.find((part) => part.name === name)?.source ?? 'unknown';
}

/** One for each group of endpoints, short enough for a line of the screen. */
const PATHS = [
  '/api/store/info/',
  '/api/review/list?page_size=2',
  '/api/order/list?page_size=3',
  '/api/menu/',
] as const;

/** A token, and with it one request for each group of endpoints: each is a line of its own. */
export function firstRequests(queryUrl: string, key: IssuedKey): { token: string[]; groups: string[] } {
  return {
    token: [
      `TOKEN=$(curl -s -u ${key.client_id}:${key.client_secret} \\`,
      `  -d grant_type=client_credentials ${queryUrl}/api/auth/token/ \\`,
      `  | sed -E 's/.*"access_token":"([^"]+)".*/\\1/'); echo "$TOKEN"`,
    ],
    groups: PATHS.map((path) => `curl -sw '\\n' -H "Authorization: Bearer $TOKEN" '${queryUrl}${path}'`),
  };
}
