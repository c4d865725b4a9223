/** The events of one store as the log has them, each as a line of NDJSON that `publish` takes. */
import { findErasedIn } from '#shared/access/erased-stores.ts';
import { readChange } from '#shared/events/change.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { type LogMessage, unreadableBatch } from '#shared/kafka/message.ts';
import { DropDecisions } from '#shared/projection/dead-letters/decisions.ts';
import { readLoosely } from '#shared/projection/dead-letters/letter.ts';
import type { Servers } from '../connection/servers.ts';
import { LogReader } from '#shared/kafka/log-reader.ts';

export interface Told {
  events: number;
  /** Messages of the store that are no events, and were not dropped. */
  rejected: number;
  /** Record batches that cannot be read: whose messages they hold nobody knows. */
  unreadable: number;
}

/**
 * Tells a store's events up to the present end of the log, partition by partition in the order of the log. What is passed by when
 * read models are made is passed by here: what was dropped, and what is of before an erasure of the store.
 * @param tell is given some lines at a time, and waited for.
 */
export async function tellEventsOf(
  servers: Servers,
  environment: string,
  storeId: string,
  tell: (lines: readonly string[]) => Promise<void>,
): Promise<Told> {
  const topic = changesTopic(environment);
  const control = await servers.control();
  const erased = await findErasedIn(control, environment)([storeId]);
  const dropped = new DropDecisions(control, topic);
  const told: Told = { events: 0, rejected: 0, unreadable: 0 };
  const reader = await LogReader.open(servers, topic);
  try {
    for (const [partition, { start, end }] of await reader.bounds()) {
      await reader.read({ partition, from: start, to: end }, async (batch) => {
        const slice = await dropped.leaveOut({ topic, partition, messages: batch, next: 0 });
        told.unreadable += slice.messages.filter((message) => unreadableBatch(message) !== undefined).length;
        const own = slice.messages.filter(
          (message) =>
            message.key?.toString('utf8') === storeId &&
            !erased.passesBy(storeId, { topic, partition }, message),
        );
        const lines = own.filter(isEvent).map(toLine);
        told.events += lines.length;
        told.rejected += own.length - lines.length;
        if (lines.length > 0) await tell(lines);
      });
    }
    return told;
  } finally {
    await reader.close();
  }
}

function isEvent(message: LogMessage): boolean {
  try {
    readChange(message);
    return true;
  } catch (error) {
    if (error instanceof EventRejected) return false;
    throw error;
  }
}

/** An event in structured mode, on one line. */
function toLine(message: LogMessage): string {
  const { attributes, value } = readLoosely(message);
  // Outside of texts a line break means nothing, and inside JSON has none.
  const text = (message.value ?? '').toString('utf8').replaceAll(/[\r\n]/g, ' ');
  if (attributes === value) return text;
  // Headers of these names say nothing in binary mode.
  const { data: _data, data_base64: _base64, ...others } = attributes;
  // The text as it is: unknown fields may be nested deeper than can be written.
  return `${JSON.stringify(others).slice(0, -1)}${text === '' ? '' : `,"data":${text}`}}`;
}
