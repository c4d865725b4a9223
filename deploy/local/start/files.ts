/** What lies in the folder of a running stack: `stack.json` for its clients, and the key that signs tokens. */
import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newSigningKey } from '#shared/access/signing-key-set.ts';
import type { Scope } from '#shared/events/access-event.ts';

export interface IssuedKey {
  client_id: string;
  client_secret: string;
  store_id: string;
  environment: string;
  scopes: Scope[];
}

/** The file's content; other programs read it, so its names are not ours to change. */
export interface StackFile {
  query_url: string;
  operations_urls: string[];
  kafka_brokers: string[];
  mongodb_uri: string;
  redis_url: string;
  environments: string[];
  keys: IssuedKey[];
  /** Only where it is not the default. */
  name_prefix?: string;
}

/** Where it lies. */
export function stackFilePath(folder: string): string {
  return join(folder, 'stack.json');
}

/** Writes it at one go: whoever sees it, sees all of it. */
export async function writeStackFile(folder: string, content: StackFile): Promise<void> {
  const path = stackFilePath(folder);
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  await rename(draft, path);
}

/** Removes it, if it is there. */
export async function removeStackFile(folder: string): Promise<void> {
  await rm(stackFilePath(folder), { force: true });
}

/** Where it lies. */
export function signingKeyPath(folder: string): string {
  return join(folder, 'signing-keys.json');
}

/** Makes a key, unless one is to be kept and is there. */
export async function prepareSigningKey(folder: string, keepData: boolean): Promise<string> {
  const path = signingKeyPath(folder);
  const isThere = await stat(path).then(
    () => true,
    () => false,
  );
  if (keepData && isThere) return path;
  await rm(path, { force: true });
  await writeFile(path, JSON.stringify({ keys: [await newSigningKey()] }), { mode: 0o600 });
  return path;
}
