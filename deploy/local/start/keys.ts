/** Keys for the simulated stores: made here, published through Kafka like those of every other source, and live once one gets a token. */
import { hash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kafka } from 'kafkajs';
import { hashSecret, newClientSecret } from '#shared/access/secrets.ts';
import { type Scope, SCOPES } from '#shared/events/access-event.ts';
import { encodeEvent } from '#shared/events/encode.ts';
import { accessTopic } from '#shared/events/topics.ts';
import { createProducer } from '#shared/kafka.ts';
import { StackError } from '#local/stack/errors.ts';
import type { IssuedKey } from './files.ts';

const KEYS_PER_REQUEST = 500;

/**
 * What keys are made of: drawn once for each user of the machine, so that saved requests live on from run to run. It is kept with the
 * fetched programs; where that is not possible, it is good for one run.
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
 * A key with all scopes for each store in each environment, and one more for the first store that may read
 * orders only, to try out what a missing scope does. The same seed gives the same keys.
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
      client_secret: text('secret', 43),
      store_id,
      environment,
      scopes: [...scopes],
    };
  };
  const keys = environments.flatMap((environment) =>
    storeIds.map((storeId) => makeKey(storeId, environment, SCOPES)),
  );
  const [store, environment] = [storeIds[0], environments[0]];
  if (store !== undefined && environment !== undefined) keys.push(makeKey(store, environment, ['order']));
  return keys;
}

/** Publishes them; they are live once the projector has applied them. */
export async function publishKeys(kafka: Kafka, keys: readonly IssuedKey[]): Promise<void> {
  const producer = createProducer(kafka);
  await producer.connect();
  try {
    for (const [environment, ofEnvironment] of Map.groupBy(keys, (key) => key.environment)) {
      for (let start = 0; start < ofEnvironment.length; start += KEYS_PER_REQUEST) {
        await producer.send({
          topic: accessTopic(environment),
          messages: ofEnvironment.slice(start, start + KEYS_PER_REQUEST).map(asMessage),
        });
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
    // What was changed of it in an earlier run is put back.
    sequence: Date.now(),
    data: { secret_sha256: hashSecret(key.client_secret), scopes: key.scopes, status: 'active' },
    source: '/local/keys',
  });
}

const LIMIT_MS = 30_000;
/** Seldom enough not to look like somebody who guesses secrets. */
const PAUSE_MS = 200;

/** Waits until the key gets a token. @throws {StackError} with the last answer when it gets none in time. */
export async function awaitToken(queryUrl: string, key: IssuedKey, stopping: AbortSignal): Promise<void> {
  const limit = Date.now() + LIMIT_MS;
  for (;;) {
    const answer = await askForToken(queryUrl, key);
    if (answer === null) return;
    if (Date.now() > limit) {
      throw new StackError(`no token for a key of ${key.store_id} in ${key.environment}: ${answer}`);
    }
    await sleep(PAUSE_MS, undefined, { signal: stopping });
  }
}

/** `null` when there was a token, else what the answer was. */
async function askForToken(queryUrl: string, key: IssuedKey): Promise<string | null> {
  const credentials = Buffer.from(`${key.client_id}:${key.client_secret}`).toString('base64');
  try {
    const response = await fetch(`${queryUrl}/api/auth/token/`, {
      method: 'POST',
      headers: { authorization: `Basic ${credentials}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
      signal: AbortSignal.timeout(2_000),
    });
    const body = await response.text();
    return response.ok ? null : `${response.status} ${body}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
