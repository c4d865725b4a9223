/** Whether the log is still the one that a checkpoint was made from: if not, going on would lose events. */
import { StoreDataError } from '#shared/errors.ts';

/** Where the log of a partition begins and ends. */
export interface LogBounds {
  start: number;
  end: number;
}

export interface LogOfCheckpoint {
  topic: string;
  partition: number;
  /** What to do when the log is another one. */
  wayOut: string;
}

/** @throws {StoreDataError} `history_lost` where the offset that is applied next is none of the log. */
export function checkHistory(log: LogOfCheckpoint, position: number, { start, end }: LogBounds): void {
  if (position < start) {
    throw historyLost(
      log,
      `the log begins at ${start}, but ${position} is to be applied next: events in between are gone`,
    );
  }
  if (position > end) {
    throw historyLost(
      log,
      `the log ends at ${end}, but the checkpoint stands at ${position}: this is another log than it was made from`,
    );
  }
}

/** The log holds something else where the last message was. */
export function replacedLog(log: LogOfCheckpoint, last: number | undefined): StoreDataError {
  return historyLost(
    log,
    `the message at ${last} is not the one that was applied: this is another log than the checkpoint was made from`,
  );
}

function historyLost({ topic, partition, wayOut }: LogOfCheckpoint, why: string): StoreDataError {
  return new StoreDataError('history_lost', `${topic}/${partition}: ${why}; ${wayOut}`);
}
