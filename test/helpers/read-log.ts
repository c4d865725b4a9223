/** What the log of a topic shows to commands. */
import { Servers } from '#admin/servers.ts';
import type { LogMessage } from '#shared/kafka/message.ts';
import type { Installation } from './installation.ts';

/** All messages of a topic; those of a partition in order. */
export async function readLog({ config }: Installation, topic: string): Promise<LogMessage[]> {
  const servers = new Servers({ config, origin: 'the test' });
  const found: LogMessage[] = [];
  try {
    const { bounds, read } = await servers.logReader(topic);
    for (const [partition, { start, end }] of await bounds()) {
      await read({ partition, from: start, to: end }, (messages) => void found.push(...messages));
    }
  } finally {
    await servers.close();
  }
  return found;
}
