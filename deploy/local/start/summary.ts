/** What the screen says once everything is ready: parts, addresses, a key, and requests to copy. */
import { shownAddress } from '#shared/address.ts';
import type { Stack } from '#local/stack/stack.ts';
import type { StartOptions } from './options.ts';
import { firstRequests } from './requests.ts';
import { stackFilePath, type StackFile } from './stack-file.ts';
import { grouped } from './status.ts';

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
