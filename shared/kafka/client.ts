/**
 * Creates every Kafka client, and topics that keep every event. Other folders do not import
 * kafkajs.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs, { type Admin, type Kafka, type KafkaConfig, type Producer } from 'kafkajs';
import { isUnavailable, refusalOf, StoreDataError } from '../errors.ts';
import type { Config } from '../config.ts';
import { kafkaSecurity, kafkaSockets, seedBrokers } from './connection.ts';
import './patches.ts';
import { type Logger, repeatedLines } from '../logging.ts';

// Most exports of kafkajs cannot be imported by name.
const { ConfigResourceTypes, Kafka: KafkaClient, logLevel } = kafkajs;

export type * from 'kafkajs';

/** Far longer than a busy broker needs to answer from its own state. */
const AT_ONCE_MS = 5_000;

/** Makes a client. kafkajs's lines are logged one level lower, since it retries by itself. */
export function createKafka(
  config: Pick<Config, 'kafka'>,
  clientId: string,
  logger: Logger,
): Kafka {
  const security = kafkaSecurity(config.kafka);
  return new KafkaClient({
    clientId,
    brokers: () => seedBrokers(config.kafka.brokers, security.ssl),
    ...security,
    // A broker answers JoinGroup once all members have joined.
    socketFactory: kafkaSockets(AT_ONCE_MS, rebalanceMs(config.kafka) + 2_000),
    connectionTimeout: 3_000,
    requestTimeout: 15_000,
    // Our sockets end earlier, and kafkajs would poll ten times a second.
    enforceRequestTimeout: false,
    retry: { initialRetryTime: 100, maxRetryTime: 2_000, retries: 8 },
    logLevel: logLevel.WARN,
    logCreator: () => {
      const child = logger.child({ component: 'kafkajs' });
      const leftOutOf = repeatedLines();
      return ({ level, log }) => {
        const detail = typeof log['error'] === 'string' ? `: ${log['error']}` : '';
        const line = `${log.message}${detail}`;
        if (level !== logLevel.ERROR) {
          child.debug(line);
          return;
        }
        const leftOut = leftOutOf(line);
        if (leftOut !== null) child.warn(leftOut === 0 ? {} : { left_out: leftOut }, line);
      };
    },
  });
}

/** Makes a client that logs nothing, for tools beside the services. */
export function createQuietKafka(
  clientId: string,
  brokers: string[],
  options: Partial<KafkaConfig> = {},
): Kafka {
  return new KafkaClient({ clientId, brokers, logLevel: logLevel.NOTHING, ...options });
}

/**
 * Uses a new connection: an idle one may have died unnoticed, and a request on it would wait for
 * its full limit.
 */
export async function askKafka<T>(
  kafka: Kafka,
  question: (admin: Admin) => Promise<T>,
): Promise<T> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    return await question(admin);
  } finally {
    void admin.disconnect().catch(() => undefined);
  }
}

/** How long members of a group may take to rejoin it. */
export function rebalanceMs({
  sessionTimeoutMs,
}: Pick<Config['kafka'], 'sessionTimeoutMs'>): number {
  return Math.max(sessionTimeoutMs, 10_000);
}

/** Attempts to send, with 13 s of pauses in all: brokers give up a dead one after 9 s. */
const SEND_ATTEMPTS = 10;

/**
 * On its second attempt kafkajs omits messages and reports them as sent: it gets one, and all
 * messages are sent again here.
 */
export function createProducer(kafka: Kafka): Pick<Producer, 'connect' | 'disconnect' | 'send'> {
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    // So new partitions are found soon.
    metadataMaxAge: 10_000,
    retry: { retries: 0 },
  });
  const send: Producer['send'] = async (record) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await producer.send(record);
      } catch (error) {
        if (attempt === SEND_ATTEMPTS || !isUnavailable(error)) throw error;
        await sleep(Math.min(100 * 2 ** attempt, 2_000));
      }
    }
  };
  return { ...producer, send };
}

/** How long brokers may take to know created topics. */
const TOPICS_MADE_MS = 20_000;

/** Settings of a topic that keeps everything; compaction by store id would destroy events. */
export const TOPIC_CONFIG = {
  'cleanup.policy': 'delete',
  'retention.ms': '-1',
  'retention.bytes': '-1',
} as const;

const KEEPING_ALL = Object.entries(TOPIC_CONFIG)
  .map(([name, value]) => `${name}=${value}`)
  .join(' and ');

export async function createTopics(
  admin: Admin,
  topics: string[],
  options: { partitions: number; config?: Record<string, string> },
): Promise<string[]> {
  const existing = await findTopics(admin, topics);
  const missing = topics.filter((topic) => !existing.has(topic));
  if (missing.length === 0) return [];
  await admin.createTopics({
    waitForLeaders: false,
    topics: missing.map((topic) => ({
      topic,
      numPartitions: options.partitions,
      configEntries: Object.entries({ ...TOPIC_CONFIG, ...options.config }).map(
        ([name, value]) => ({ name, value }),
      ),
    })),
  });
  await waitForTopics(admin, missing);
  return missing;
}

const MISSING = new Set<unknown>([
  'UNKNOWN_TOPIC_OR_PARTITION',
  'TOPIC_AUTHORIZATION_FAILED',
  'INVALID_TOPIC_EXCEPTION',
]);

/** Those of the topics that exist, and that our user may see. No others are asked for. */
export async function findTopics(admin: Admin, topics: readonly string[]): Promise<Set<string>> {
  const found = new Set<string>();
  for (const topic of topics) {
    try {
      await admin.fetchTopicMetadata({ topics: [topic] });
      found.add(topic);
    } catch (error) {
      if (!(error instanceof Error && 'type' in error && MISSING.has(error.type))) throw error;
    }
  }
  return found;
}

/** A new topic is unknown to busy brokers for a while. */
async function waitForTopics(admin: Admin, topics: string[]): Promise<void> {
  for (const end = Date.now() + TOPICS_MADE_MS; ; await sleep(50)) {
    try {
      await admin.fetchTopicMetadata({ topics });
      for (const topic of topics) await admin.fetchTopicOffsets(topic);
      return;
    } catch (error) {
      if (Date.now() > end || !isUnavailable(error)) throw error;
    }
  }
}

/**
 * @param unseen is called with a topic whose settings our user may not read.
 * @throws {StoreDataError} `topic_unsuitable` (rule R11.4), with each topic, its mistake and the correction.
 */
export async function checkTopics(
  admin: Admin,
  topics: string[],
  unseen: (remark: string) => void,
): Promise<void> {
  const existing = await findTopics(admin, topics);
  const mistakes: string[] = [];
  for (const topic of topics) {
    if (!existing.has(topic)) {
      mistakes.push(
        `topic ${topic} does not exist, or our user may not see it (Describe); create it with ${KEEPING_ALL}`,
      );
      continue;
    }
    const settings = await settingsOf(admin, topic);
    if (settings === null) {
      unseen(
        `whether topic ${topic} keeps every event is not known: our user may not see it (DescribeConfigs)`,
      );
      continue;
    }
    for (const [name, wanted] of Object.entries(TOPIC_CONFIG)) {
      const value = settings.get(name);
      if (value === undefined || value === wanted) continue;
      mistakes.push(
        `topic ${topic} has ${name}=${value}; set it to ${wanted}, or events will be lost`,
      );
    }
  }
  if (mistakes.length > 0) throw new StoreDataError('topic_unsuitable', mistakes.join('\n'));
}

/** The settings that decide what a topic keeps; `null` if our user may not see them. */
async function settingsOf(admin: Admin, name: string): Promise<Map<string, string> | null> {
  const configNames = Object.keys(TOPIC_CONFIG);
  try {
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: ConfigResourceTypes.TOPIC, name, configNames }],
    });
    const entries = resources.flatMap(({ configEntries }) => configEntries);
    return new Map(entries.map(({ configName, configValue }) => [configName, configValue]));
  } catch (error) {
    if (refusalOf(error) !== null) return null;
    throw error;
  }
}
