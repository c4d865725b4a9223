/** The page for operators: how everything is, read-only. Nothing in it comes from another host, and no script but its own runs. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Answer } from '#shared/operations.ts';
import type { Status } from './status.ts';

const FILES = [
  ['/', 'text/html; charset=utf-8', 'status.html'],
  ['/status.css', 'text/css; charset=utf-8', 'status.css'],
  ['/status.js', 'text/javascript; charset=utf-8', 'status.js'],
] as const;

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** Its answers by path. @param read tells `null` while the projector has not started. */
export function statusPages(read: () => Promise<Status | null>): Record<string, () => Promise<Answer>> {
  const files = FILES.map(([path, contentType, file]) => [
    path,
    async (): Promise<Answer> => ({
      status: 200,
      contentType,
      body: await readFile(join(import.meta.dirname, 'assets', file), 'utf8'),
      headers: HEADERS,
    }),
  ]);
  // Several who look at once are told the same.
  let reading: Promise<Status | null> | null = null;
  const status = async (): Promise<Answer> => {
    reading ??= read().finally(() => {
      reading = null;
    });
    const found = await reading;
    return {
      status: found === null ? 503 : 200,
      contentType: 'application/json; charset=utf-8',
      body: JSON.stringify(
        found ?? { code: 'not_ready', detail: 'the projector waits for Kafka and MongoDB' },
      ),
      headers: HEADERS,
    };
  };
  return { ...Object.fromEntries(files), '/status.json': status };
}
