/**
 * The files of a running stack: stack.json for its clients and the signing key; and the keys of the
 * simulated stores.
 */
import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { clientSecretOf, hashSecret, newClientSecret } from '#shared/access/secrets.ts';
import { newSigningKey } from '#shared/access/signing-key-set.ts';
import { type Scope, SCOPES } from '#shared/events/access-event.ts';
import { encodeEvent, accessTopic } from '#shared/events/topics.ts';
import { createProducer, type Kafka } from '#shared/kafka/client.ts';
import { inBatches } from '#shared/waiting.ts';

export interface IssuedKey {
  client_id: string;
  client_secret: string;
  store_id: string;
  environment: string;
  scopes: Scope[];
}

/** The file's content (rule R15.1). */
export interface StackFile {
  query_url: string;
  operations_urls: string[];
  kafka_brokers: string[];
  mongodb_uri: string;
  redis_url: string;
  environments: string[];
  keys: IssuedKey[];
  /** Only if it is not the default. */
  name_prefix?: string;
}

export function stackFilePath(folder: string): string {
  return join(folder, 'stack.json');
}

/** A reader never sees half of it. */
export async function writeStackFile(folder: string, content: StackFile): Promise<void> {
  const path = stackFilePath(folder);
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  await rename(draft, path);
}

export function signingKeyPath(folder: string): string {
  return join(folder, 'signing-keys.json');
}

/** Makes a key, unless one is to be kept and is there. */
export async function prepareSigningKey(folder: string, keepData: boolean): Promise<string> {
  const path = signingKeyPath(folder);
  if (keepData && existsSync(path)) return path;
  await rm(path, { force: true });
  await writeFile(path, JSON.stringify({ keys: [await newSigningKey()] }), { mode: 0o600 });
  return path;
}

const KEYS_PER_REQUEST = 500;

/**
 * The seed of the keys, stored in the cache for each user, so that saved requests work in every
 * run; else new for this run.
 */
export async function keySeed(cache: string): Promise<string> {
  const file = join(cache, 'demo-keys-seed');
  const seed = newClientSecret();
  try {
    await mkdir(cache, { recursive: true });
    await writeFile(file, seed, { mode: 0o600, flag: 'wx' });
    return seed;
  } catch {
    return (await readFile(file, 'utf8').catch(() => '')) || seed;
  }
}

/**
 * A key with all scopes for each store and environment, and one for orders alone, to try a missing
 * scope. Same seed, same keys.
 */
export function makeKeys(
  storeIds: readonly string[],
  environments: readonly string[],
  seed: string,
): IssuedKey[] {
  const makeKey = (store_id: string, environment: string, scopes: readonly Scope[]): IssuedKey => {
    const text = (part: string, length: number) =>
      hash('sha512', [seed, environment, store_id, ...scopes, part].join('/'), 'base64')
        .replaceAll(/[^A-Za-z0-9]/g, '')
        .slice(0, length);
    return {
      client_id: text('id', 24),
      client_secret: clientSecretOf(text('secret', 43)),
      store_id,
      environment,
      scopes: [...scopes],
    };
  };
  const keys = environments.flatMap((environment) =>
    storeIds.map((storeId) => makeKey(storeId, environment, SCOPES)),
  );
  const [store, environment] = [storeIds[0], environments[0]];
  if (store !== undefined && environment !== undefined)
    keys.push(makeKey(store, environment, ['order']));
  return keys;
}

export async function publishKeys(kafka: Kafka, keys: readonly IssuedKey[]): Promise<void> {
  const producer = createProducer(kafka);
  await producer.connect();
  try {
    for (const [environment, ofEnvironment] of Map.groupBy(keys, (key) => key.environment)) {
      for await (const messages of inBatches(ofEnvironment.map(asMessage), KEYS_PER_REQUEST)) {
        await producer.send({ topic: accessTopic(environment), messages });
      }
    }
  } finally {
    await producer.disconnect();
  }
}

function asMessage(key: IssuedKey) {
  return encodeEvent({
    entity: 'access_key',
    storeId: key.store_id,
    subject: key.client_id,
    // Above the sequences of earlier runs.
    sequence: Date.now(),
    data: { secret_sha256: hashSecret(key.client_secret), scopes: key.scopes, status: 'active' },
    source: '/local/keys',
  });
}
