/** Reads and changes topics of an installation. */
import kafkajs, { type Admin, type Kafka } from 'kafkajs';
import { createTopics } from '#shared/kafka/client.ts';
import { eventually } from './eventually.ts';

export async function withAdmin<T>(kafka: Kafka, use: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    return await use(admin);
  } finally {
    await admin.disconnect();
  }
}

/** The end offset of each partition. */
export async function endsOf(kafka: Kafka, topic: string): Promise<Map<number, number>> {
  const offsets = await withAdmin(kafka, (admin) => admin.fetchTopicOffsets(topic));
  return new Map(offsets.map(({ partition, high }) => [partition, Number(high)]));
}

/** Replaces all settings of a topic; others get the broker's default. */
export function configureTopic(
  kafka: Kafka,
  name: string,
  settings: Record<string, string>,
): Promise<void> {
  const configEntries = Object.entries(settings).map(([setting, value]) => ({
    name: setting,
    value,
  }));
  const resource = { type: kafkajs.ConfigResourceTypes.TOPIC, name, configEntries };
  return withAdmin(kafka, (admin) =>
    admin.alterConfigs({ validateOnly: false, resources: [resource] }),
  );
}

/** Deletes a topic and recreates it with one partition. */
export function makeTopicAnew(kafka: Kafka, topic: string): Promise<void> {
  return withAdmin(kafka, async (admin) => {
    await admin.deleteTopics({ topics: [topic] });
    await eventually('the topic is gone', async () => !(await admin.listTopics()).includes(topic));
    await createTopics(admin, [topic], { partitions: 1 });
  });
}
