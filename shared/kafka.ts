/**
 * The Kafka client, its logs led into ours, and the check of topics before anything is read from them. Whoever makes a client imports
 * this file: from then on every client of the process knows all codecs and survives what it cannot read.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs, { type Admin, type Kafka, type Producer } from 'kafkajs';
import type { Config } from './config.ts';
import { isUnavailable, StoreDataError } from './errors.ts';
import { registerCodecs } from './kafka/codecs.ts';
import { replaceFetches } from './kafka/fetch-response.ts';
import { quietRequestQueues } from './kafka/request-queue.ts';
import { kafkaSecurity } from './kafka/security.ts';
import { kafkaSockets } from './kafka/socket.ts';
import type { Logger } from './logging.ts';
import { RepeatedLines } from './repeated-lines.ts';

// Most of what kafkajs exports is out of reach of named imports.
const { ConfigResourceTypes, Kafka: KafkaClient, logLevel } = kafkajs;

registerCodecs();
replaceFetches();
quietRequestQueues();

/** Far longer than a broker that is busy takes for what it knows. */
const AT_ONCE_MS = 5_000;

/** Makes a client. kafkajs logs at our levels, one step quieter: its own retries are no events of ours. */
export function createKafka(config: Pick<Config, 'kafka'>, clientId: string, logger: Logger): Kafka {
  return new KafkaClient({
    clientId,
    brokers: config.kafka.brokers,
    ...kafkaSecurity(config.kafka),
    // Who joins a group is answered when everybody has.
    socketFactory: kafkaSockets({ atOnceMs: AT_ONCE_MS, othersMs: rebalanceMs(config.kafka) + 2_000 }),
    connectionTimeout: 3_000,
    requestTimeout: 15_000,
    // Our sockets end before, and kafkajs would look ten times a second.
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

/** How long members of a group may take to join it anew. */
export function rebalanceMs({ sessionTimeoutMs }: Pick<Config['kafka'], 'sessionTimeoutMs'>): number {
  return Math.max(sessionTimeoutMs, 10_000);
}

/** Attempts to send, with thirteen seconds of waiting between them: a broker that is gone is given up after nine. */
const SEND_ATTEMPTS = 10;

/**
 * Makes a producer that sends everything or fails. kafkajs's own second attempt leaves out, and reports as sent, what is for
 * partitions whose new leader has already answered for others; so it has one attempt, and all of it is sent again here.
 */
export function createProducer(kafka: Kafka): Producer {
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    // Partitions that a topic was given are found soon.
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

/** How long brokers may take to agree on topics that were made. */
const TOPICS_MADE_MS = 20_000;

/** Settings of a topic that keeps everything; compaction by store id would destroy events. */
export const TOPIC_CONFIG = {
  'cleanup.policy': 'delete',
  'retention.ms': '-1',
  'retention.bytes': '-1',
} as const;

/** Creates topics that are missing, with the settings that keep everything. @returns the names of those made. */
export async function createTopics(
  admin: Admin,
  topics: string[],
  options: { partitions: number; config?: Record<string, string> },
): Promise<string[]> {
  const existing = new Set(await admin.listTopics());
  const missing = topics.filter((topic) => !existing.has(topic));
  if (missing.length === 0) return [];
  await admin.createTopics({
    waitForLeaders: false,
    topics: missing.map((topic) => ({
      topic,
      numPartitions: options.partitions,
      configEntries: Object.entries({ ...TOPIC_CONFIG, ...options.config }).map(([name, value]) => ({
        name,
        value,
      })),
    })),
  });
  await knownToBrokers(admin, missing);
  return missing;
}

/** A topic that was just made is unknown to a busy broker for a while. */
async function knownToBrokers(admin: Admin, topics: string[]): Promise<void> {
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
 * Checks that topics exist and keep every event (rule R11.4).
 * @throws {StoreDataError} `topic_unsuitable`, naming each topic, what is wrong and the command that mends it.
 */
export async function checkTopics(admin: Admin, topics: string[]): Promise<void> {
  const existing = new Set(await admin.listTopics());
  const mistakes = topics
    .filter((topic) => !existing.has(topic))
    .map((topic) => `topic ${topic} does not exist; create it with ${settingsText()}`);
  const present = topics.filter((topic) => existing.has(topic));
  if (present.length > 0) {
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: present.map((name) => ({
        type: ConfigResourceTypes.TOPIC,
        name,
        configNames: Object.keys(TOPIC_CONFIG),
      })),
    });
    for (const { resourceName, configEntries } of resources) {
      for (const { configName, configValue } of configEntries) {
        const wanted = TOPIC_CONFIG[configName as keyof typeof TOPIC_CONFIG];
        if (wanted !== undefined && configValue !== wanted) {
          mistakes.push(
            `topic ${resourceName} has ${configName}=${configValue}; set it to ${wanted}, or events will be lost`,
          );
        }
      }
    }
  }
  if (mistakes.length > 0) throw new StoreDataError('topic_unsuitable', mistakes.join('\n'));
}

function settingsText(): string {
  return Object.entries(TOPIC_CONFIG)
    .map(([name, value]) => `${name}=${value}`)
    .join(' and ');
}
