/** What the log of a topic shows to commands. */
import { Servers } from '#admin/servers.ts';
import { withLogReader } from '#shared/kafka/log-reader.ts';
import type { LogMessage } from '#shared/kafka/message.ts';
import type { Installation } from './installation.ts';

/** All messages of a topic; those of a partition in order. */
export async function readLog({ config }: Installation, topic: string): Promise<LogMessage[]> {
  const servers = new Servers({ config, origin: 'the test' });
  const found: LogMessage[] = [];
  try {
    await withLogReader(servers, topic, async ({ bounds, read }) => {
      for (const [partition, { start, end }] of await bounds()) {
        await read({ partition, from: start, to: end }, (messages) => void found.push(...messages));
      }
    });
  } finally {
    await servers.close();
  }
  return found;
}
