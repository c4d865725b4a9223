/** Publishes to a running API, manages its keys, and waits until answers show the changes. */
import { createKafka, createProducer } from '#shared/kafka/client.ts';
import { type Places, settle } from '#local/start/settle.ts';
import { hashSecret, newClientId, newClientSecret } from '#shared/access/secrets.ts';
import { allEnded, inBatches } from '#shared/waiting.ts';
import { type Config, readConfig } from '#shared/config.ts';
import { readAccessChange, SCOPES } from '#shared/events/access-event.ts';
import { readChange } from '#shared/events/change.ts';
import {
  type EncodedMessage,
  encodeEvent,
  type EventToEncode,
  topicsOf,
} from '#shared/events/topics.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import { createLogger } from '#shared/logging.ts';
import { createWriterClient } from '#shared/mongodb.ts';
import { Databases } from '#shared/read-models/generation.ts';
import type * as Api from './api.d.ts';

const SOURCE = '/testing';
const SETTLE_LIMIT_MS = 60_000;
/** In one request to Kafka. */
const MESSAGES_TOGETHER = 500;

export const connectStoreData: typeof Api.connectStoreData = async (connection) => {
  const { url, environment, settings } = connection;
  const config = readConfig(settings);
  const kafka = kafkaOf(config);
  const producer = createProducer(kafka);
  const mongodb = createWriterClient(config, 'store-data-testing');
  const close = () => allEnded<unknown>([producer.disconnect(), mongodb.close()]);
  try {
    await allEnded<unknown>([producer.connect(), mongodb.connect()]);
  } catch (error) {
    // Open connections would keep the process alive.
    await close().catch(() => undefined);
    throw error;
  }
  const [topic, accessTopic] = topicsOf(environment);
  const databases = new Databases(config.namePrefix, mongodb);
  const places: Places = { kafka, databases, environment };
  const nextSequence = risingSequence();

  const send = async (to: string, messages: EncodedMessage[]) => {
    for await (const some of inBatches(messages, MESSAGES_TOGETHER))
      await producer.send({ topic: to, messages: some });
    await settle(places, SETTLE_LIMIT_MS);
  };
  const setKey = async (key: Api.Key, status: 'active' | 'revoked') => {
    const data = { secret_sha256: hashSecret(key.clientSecret), scopes: key.scopes, status };
    const event = { entity: 'access_key', storeId: key.storeId, subject: key.clientId, data };
    const message = encodeEvent({ ...event, sequence: nextSequence(), source: SOURCE });
    readAccessChange(asReceived(message));
    await send(accessTopic, [message]);
  };

  return {
    url,
    connection,
    async publish(changes) {
      const events = changes.map((change) => asEvent(change, change.sequence ?? nextSequence()));
      await send(topic, events.map(encodeChecked));
    },
    async createKey({ storeId = 's1', scopes = [...SCOPES] } = {}) {
      const key = { clientId: newClientId(), clientSecret: newClientSecret(), storeId, scopes };
      await setKey(key, 'active');
      return key;
    },
    revokeKey: (key) => setKey(key, 'revoked'),
    token: (key) => requestToken(url, key),
    settled: () => settle(places, SETTLE_LIMIT_MS),
    stop: async () => void (await close()),
  };
};

export function kafkaOf(config: Config) {
  return createKafka(config, 'store-data-testing', createLogger('testing', 'silent'));
}

/** Sequences rise from call to call, and are above those of processes that started earlier. */
function risingSequence(): () => number {
  let last = 0;
  return () => (last = Math.max(last + 1, Date.now() * 1_000));
}

export function asEvent(change: Api.Change, sequence: number): EventToEncode {
  const { entity, id, storeId = 's1', data, time } = change;
  const action = data === undefined ? 'deleted' : 'changed';
  const when = time === undefined ? {} : { time };
  return { entity, action, storeId, subject: id, sequence, data, source: SOURCE, ...when };
}

/** @throws {Error} if the event would become a dead letter. */
function encodeChecked(event: EventToEncode, index: number): EncodedMessage {
  const message = encodeEvent(event);
  try {
    readChange(asReceived(message));
    return message;
  } catch (error) {
    if (!(error instanceof EventRejected)) throw error;
    const which = `change ${index + 1} (${event.entity} ${event.subject})`;
    throw new Error(`${which} is not an event: ${error.message}`, { cause: error });
  }
}

function asReceived({ key, value }: EncodedMessage) {
  return { key: Buffer.from(key), value: Buffer.from(value) };
}

async function requestToken(url: string, { clientId, clientSecret }: Api.Key): Promise<string> {
  const credentials = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
  const response = await fetch(`${url}/api/auth/token/`, {
    method: 'POST',
    headers: { authorization: `Basic ${credentials}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  if (!response.ok) throw new Error(`no token: ${response.status} ${await response.text()}`);
  const { access_token: token } = (await response.json()) as { access_token: string };
  return token;
}
