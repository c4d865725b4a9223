/**
 * Connects to MongoDB for as long as it takes. A client whose first connection failed answers "Topology is
 * closed" for ever, unless it is told to connect again; once connected it finds its way back by itself.
 */
import type { MongoClient } from 'mongodb';
import { describeError } from '#shared/errors.ts';
import type { Logger } from '#shared/logging.ts';
import { pause } from '#shared/pause.ts';

/** Resolves after the first attempt; further ones go on in the background until `signal` is aborted. */
export async function keepConnecting(
  client: MongoClient,
  logger: Logger,
  intervalMs: number,
  signal: AbortSignal,
): Promise<void> {
  const failure = await attempt(client, signal);
  if (failure === null || signal.aborted) return;
  logger.warn({ error: failure }, 'MongoDB cannot be reached');
  void (async () => {
    while (await pause(intervalMs, signal)) {
      if ((await attempt(client, signal)) === null) {
        if (!signal.aborted) logger.info('MongoDB is back');
        return;
      }
    }
  })();
}

async function attempt(client: MongoClient, signal: AbortSignal): Promise<string | null> {
  try {
    await client.connect();
    // It may have been closed meanwhile.
    if (signal.aborted) await client.close();
    return null;
  } catch (error) {
    return describeError(error);
  }
}
