/** Reads the log of a topic like the commands do. */
import { createServers } from '#admin/servers.ts';
import type { LogMessage } from '#shared/kafka/message.ts';
import type { Installation } from './installation.ts';

/** All messages of a topic, in order within a partition. */
export async function readLog({ config }: Installation, topic: string): Promise<LogMessage[]> {
  await using servers = createServers({ config, origin: 'the test' });
  const found: LogMessage[] = [];
  const { bounds, read } = await servers.logReader(topic);
  for (const [partition, { start, end }] of await bounds()) {
    await read({ partition, from: start, to: end }, (messages) => void found.push(...messages));
  }
  return found;
}
