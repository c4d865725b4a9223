import { MongoBulkWriteError, MongoNetworkError, MongoServerError } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { describeError, isUnavailable, StoreDataError } from '#shared/errors.ts';

/** As the driver raises it for a bulk write that something else ended. */
function duringBulkWrite(error: Error): MongoBulkWriteError {
  return new MongoBulkWriteError(error, {} as never);
}

describe('what may succeed later', () => {
  it('is a lost connection, also in the middle of a bulk write', () => {
    const lost = new MongoNetworkError('connection 3 to 127.0.0.1:27017 closed');
    expect(isUnavailable(lost)).toBe(true);
    expect(isUnavailable(duringBulkWrite(lost))).toBe(true);
  });

  it('is a conflict of transactions', () => {
    const labelled = { message: 'WriteConflict', code: 112, errorLabels: ['TransientTransactionError'] };
    expect(isUnavailable(new MongoServerError(labelled))).toBe(true);
    expect(isUnavailable(duringBulkWrite(new MongoServerError(labelled)))).toBe(true);
  });

  it('is nothing that the server refuses for what it is', () => {
    const refused = new MongoServerError({ message: 'document is too large', code: 10334 });
    expect(isUnavailable(refused)).toBe(false);
    expect(isUnavailable(duringBulkWrite(refused))).toBe(false);
    expect(isUnavailable(new TypeError('x is undefined'))).toBe(false);
  });
});

it('nothing that is told of an error holds the credentials of a server', () => {
  const address = 'redis://:abc@tail@host:6379/0?password=other';
  const cause = new Error(`no answer from ${address}`);
  const told = [
    describeError(new TypeError(`Invalid URL ${address}`, { cause })),
    new StoreDataError('environment_unavailable', `${address} is away`).message,
  ];
  expect(told).toEqual([
    'TypeError: Invalid URL redis://host:6379/0 (Error: no answer from redis://host:6379/0)',
    'redis://host:6379/0 is away',
  ]);
});
