/** Figures of the three servers, as they tell them. */
import type { Admin } from 'kafkajs';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { COLLECTIONS } from '#shared/read-models/collections.ts';
import type { Installation } from '#test/installation.ts';
import { readModels } from '#test/read-models.ts';
import { rounded } from '../median.ts';
import type { Sample } from './result.ts';

const MIB = 2 ** 20;

type ServerFigures = Pick<Sample, 'mongodb' | 'documents' | 'redis' | 'messages'>;

export async function lookAtServers(installation: Installation, kafka: Admin): Promise<ServerFigures> {
  const { environment, mongodb, redis } = installation;
  const db = await readModels(installation);
  const { connections, mem } = (await mongodb.db('admin').command({ serverStatus: 1 })) as {
    connections: { current: number };
    mem: { resident: number };
  };
  const sizes = await db.stats({ scale: MIB });
  const documents: Record<string, number> = {};
  for (const name of Object.values(COLLECTIONS)) {
    documents[name] = await db.collection(name).estimatedDocumentCount();
  }
  const info = await redis.info();
  const field = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]);
  const messages = async (topic: string) =>
    (await kafka.fetchTopicOffsets(topic)).reduce((sum, { high }) => sum + Number(high), 0);
  return {
    mongodb: {
      connections: connections.current,
      resident_mib: mem.resident,
      data_mib: rounded(Number(sizes['dataSize']), 1),
      storage_mib: rounded(Number(sizes['storageSize']) + Number(sizes['indexSize']), 1),
    },
    documents,
    redis: {
      clients: field('connected_clients'),
      memory_mib: rounded(field('used_memory') / MIB, 2),
      keys: await redis.dbsize(),
    },
    messages: {
      changes: await messages(changesTopic(environment)),
      access: await messages(accessTopic(environment)),
    },
  };
}
