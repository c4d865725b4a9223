/** Keys for the simulated stores: made here, published through Kafka like those of every other source. */
import type { Kafka } from 'kafkajs';
import { createProducer } from '#shared/kafka.ts';
import { hashSecret, newClientId, newClientSecret } from '#shared/access/secrets.ts';
import { SCOPES, type Scope } from '#shared/events/access-event.ts';
import { encodeEvent } from '#shared/events/encode.ts';
import { accessTopic } from '#shared/events/topics.ts';
import type { IssuedKey } from './stack-file.ts';

const KEYS_PER_REQUEST = 500;

/**
 * A key with all scopes for each store in each environment, and one more for the first store that may read
 * orders only, to try out what a missing scope does.
 */
export function makeKeys(storeIds: readonly string[], environments: readonly string[]): IssuedKey[] {
  const keys = environments.flatMap((environment) =>
    storeIds.map((storeId) => makeKey(storeId, environment, [...SCOPES])),
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

function makeKey(storeId: string, environment: string, scopes: Scope[]): IssuedKey {
  return {
    client_id: newClientId(),
    client_secret: newClientSecret(),
    store_id: storeId,
    environment,
    scopes,
  };
}

function asMessage(key: IssuedKey) {
  return encodeEvent({
    entity: 'access_key',
    storeId: key.store_id,
    subject: key.client_id,
    sequence: 1,
    data: { secret_sha256: hashSecret(key.client_secret), scopes: key.scopes, status: 'active' },
    source: '/local/keys',
  });
}
