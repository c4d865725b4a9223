/** Creates topics that keep every event, and checks existing ones before they are read. */
import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs, { type Admin } from 'kafkajs';
import { isUnavailable, refusalOf, StoreDataError } from '../errors.ts';

// Most exports of kafkajs cannot be imported by name.
const { ConfigResourceTypes } = kafkajs;

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
  await waitForTopics(admin, missing);
  return missing;
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
export async function checkTopics(admin: Admin, topics: string[], unseen: (remark: string) => void): Promise<void> {
  const existing = new Set(await admin.listTopics());
  const mistakes = topics
    .filter((topic) => !existing.has(topic))
    .map(
      (topic) => `topic ${topic} does not exist, or our user may not see it (Describe); create it with ${KEEPING_ALL}`,
    );
  for (const topic of topics.filter((name) => existing.has(name))) {
    const settings = await settingsOf(admin, topic);
    if (settings === null) {
      unseen(`whether topic ${topic} keeps every event is not known: our user may not see it (DescribeConfigs)`);
      continue;
    }
    for (const [name, wanted] of Object.entries(TOPIC_CONFIG)) {
      const value = settings.get(name);
      if (value === undefined || value === wanted) continue;
      mistakes.push(`topic ${topic} has ${name}=${value}; set it to ${wanted}, or events will be lost`);
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
