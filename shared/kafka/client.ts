/** Creates every Kafka client, with a patched kafkajs. Code outside this folder does not import kafkajs. */
import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs, { type Admin, type Kafka, type KafkaConfig, type Producer } from 'kafkajs';
import type { Config } from '../config.ts';
import { isUnavailable } from '../errors.ts';
import { replaceFetches } from './fetch.ts';
import { kafkaSecurity, kafkaSockets, quietRequestQueues, seedBrokers } from './connection.ts';
import { type Logger, RepeatedLines } from '../logging.ts';
import { changesTopic } from '../events/topics.ts';

// Most exports of kafkajs cannot be imported by name.
const { Kafka: KafkaClient, KafkaJSNonRetriableError, logLevel } = kafkajs;

export type {
  Admin,
  Consumer,
  ConsumerConfig,
  EachBatchPayload,
  Kafka,
  KafkaConfig,
  Message as ProducerMessage,
  Producer,
} from 'kafkajs';

replaceFetches();
quietRequestQueues();

/** Far longer than a busy broker needs to answer from its own state. */
const AT_ONCE_MS = 5_000;

/** Makes a client. kafkajs's lines are logged one level lower, since it retries by itself. */
export function createKafka(config: Pick<Config, 'kafka'>, clientId: string, logger: Logger): Kafka {
  const security = kafkaSecurity(config.kafka);
  return new KafkaClient({
    clientId,
    brokers: () => seedBrokers(config.kafka.brokers, security.ssl),
    ...security,
    // A broker answers JoinGroup once all members have joined.
    socketFactory: kafkaSockets({ atOnceMs: AT_ONCE_MS, othersMs: rebalanceMs(config.kafka) + 2_000 }),
    connectionTimeout: 3_000,
    requestTimeout: 15_000,
    // Our sockets end earlier, and kafkajs would poll ten times a second.
    enforceRequestTimeout: false,
    retry: { initialRetryTime: 100, maxRetryTime: 2_000, retries: 8 },
    logLevel: logLevel.WARN,
    logCreator: () => {
      const child = logger.child({ component: 'kafkajs' });
      const repeated = new RepeatedLines();
      return ({ level, log }) => {
        const detail = typeof log['error'] === 'string' ? `: ${log['error']}` : '';
        const line = `${log.message}${detail}`;
        if (level !== logLevel.ERROR) {
          child.debug(line);
          return;
        }
        const leftOut = repeated.say(line);
        if (leftOut !== null) child.warn(leftOut === 0 ? {} : { left_out: leftOut }, line);
      };
    },
  });
}

/** Makes a client that logs nothing, for tools beside the services. */
export function createQuietKafka(clientId: string, brokers: string[], options: Partial<KafkaConfig> = {}): Kafka {
  return new KafkaClient({ clientId, brokers, logLevel: logLevel.NOTHING, ...options });
}

/** Uses a new connection: an idle one may have died unnoticed, and a request on it would wait for its full limit. */
export async function askKafka<T>(kafka: Kafka, question: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    return await question(admin);
  } finally {
    void admin.disconnect().catch(() => undefined);
  }
}

export function finalError(message: string): Error {
  return new KafkaJSNonRetriableError(message);
}

/** How long members of a group may take to rejoin it. */
export function rebalanceMs({ sessionTimeoutMs }: Pick<Config['kafka'], 'sessionTimeoutMs'>): number {
  return Math.max(sessionTimeoutMs, 10_000);
}

/** Attempts to send, with 13 s of pauses in all: brokers give up a dead one after 9 s. */
const SEND_ATTEMPTS = 10;

/** On its second attempt kafkajs omits messages and reports them as sent: it gets one, and all messages are sent again here. */
export function createProducer(kafka: Kafka): Producer {
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    // So new partitions are found soon.
    metadataMaxAge: 10_000,
    retry: { retries: 0 },
  });
  return {
    ...producer,
    send: (record) => persistently(() => producer.send(record)),
    sendBatch: (batch) => persistently(() => producer.sendBatch(batch)),
  };
}

async function persistently<T>(send: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send();
    } catch (error) {
      if (attempt === SEND_ATTEMPTS || !isUnavailable(error)) throw error;
      await sleep(Math.min(100 * 2 ** attempt, 2_000));
    }
  }
}

/** One thing for each Kafka, such as a client. */
export class PerKafka<T> {
  readonly common: T;
  readonly #own: ReadonlyMap<string, T>;

  constructor(config: Config, make: (config: Pick<Config, 'kafka'>) => T) {
    this.common = make(config);
    this.#own = new Map(
      [...config.own].flatMap(([environment, { kafka }]): [string, T][] =>
        kafka === undefined ? [] : [[changesTopic(environment), make({ kafka })]],
      ),
    );
  }

  of(topic: string): T {
    return this.#own.get(topic) ?? this.common;
  }

  group(topics: readonly string[]): Map<T, string[]> {
    return Map.groupBy(topics, (topic) => this.of(topic));
  }
}
