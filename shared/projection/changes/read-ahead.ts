/**
 * Reading ahead: while a slice's transaction waits for MongoDB, the messages of the next one are read. A single partition
 * has nothing else to do then; where others have, it is the same work at another time.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { KafkaMessage } from 'kafkajs';
import { EventRejected } from '../../events/rejection.ts';
import { projectChange, type ProjectedChange } from './projected-change.ts';

/** So many are read before others get the processor again. */
const A_TURN = 32;

const read = new WeakMap<KafkaMessage, ProjectedChange | EventRejected>();

/** Begins to read messages. @returns what ends it; what is read by then is kept until it is taken. */
export function readAhead(messages: readonly KafkaMessage[]): () => void {
  let isWanted = true;
  void (async () => {
    for (let at = 0; at < messages.length; at += A_TURN) {
      await nextTurn();
      if (!isWanted) return;
      for (const message of messages.slice(at, at + A_TURN)) if (!read.has(message)) readOne(message);
    }
  })();
  return () => {
    isWanted = false;
  };
}

function readOne(message: KafkaMessage): void {
  try {
    read.set(message, projectChange(message));
  } catch (error) {
    // Any other error is thrown again by `takeChange`.
    if (error instanceof EventRejected) read.set(message, error);
  }
}

/** A message's change, whether or not it was read ahead. @throws {EventRejected} when it is poison. */
export function takeChange(message: KafkaMessage): ProjectedChange {
  const ahead = read.get(message);
  if (ahead === undefined) return projectChange(message);
  read.delete(message);
  if (ahead instanceof EventRejected) throw ahead;
  return ahead;
}
