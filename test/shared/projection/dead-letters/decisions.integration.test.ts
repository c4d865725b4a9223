import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { kafkaMessage } from '#test/events.ts';
import { useInstallation } from '#test/hooks.ts';
import { emptyReadModels } from '#test/read-models.ts';
import type { Db } from 'mongodb';
import { EventRejected } from '#shared/events/rejection.ts';
import type { LogMessage } from '#shared/kafka/message.ts';
import {
  decisionsIn,
  decisionToDrop,
  forgetDropped,
  leaveOutDropped,
  noteSkip,
  skippedTo,
} from '#shared/projection/dead-letters/decisions.ts';
import { toDeadLetter } from '#shared/projection/dead-letters/letter.ts';
import { lettersIn } from '#shared/read-models/collections.ts';

const installation = useInstallation();
let control: Db;
beforeAll(async () => {
  ({ control } = installation.databases);
});

const place = { topic: 't', partition: 0 };
const messageAt = (offset: number): LogMessage => kafkaMessage('', offset);
const skip = { from: 5, digest: 'd', reason: 'corrupt', detail: 'its checksum is wrong' };

it('a skip applies to its batch, and drops no letters', async () => {
  await noteSkip(control, place, skip, 9);
  expect(await skippedTo(control, 't', 0, skip)).toBe(9);
  expect(await skippedTo(control, 't', 0, { from: 5, digest: 'another' })).toBeNull();
  const slice = { ...place, messages: [messageAt(5)], next: 6 };
  expect(await leaveOutDropped(control, slice)).toEqual(slice);
});

describe('a dropped batch that cannot be read', () => {
  let db: Db;
  beforeEach(async () => {
    db = await emptyReadModels(installation);
    await decisionsIn(control).deleteMany({ topic: 'batches' });
  });
  const batchOf = (digest: string): LogMessage => ({
    ...messageAt(9),
    unreadable: { reason: 'malformed', detail: 'its records', from: 5, to: 9, digest },
  });
  const letterOf = (message: LogMessage) =>
    toDeadLetter('batches', 0, message, new EventRejected('unreadable', 'it cannot be read'));
  const leftOf = async (...messages: LogMessage[]) =>
    (await leaveOutDropped(control, { topic: 'batches', partition: 0, messages, next: 10 }))
      .messages;

  it('is left out, but not one of another log', async () => {
    await decisionsIn(control).insertOne(decisionToDrop(letterOf(batchOf('d'))));
    expect(await leftOf(batchOf('d'))).toEqual([]);
    expect(await leftOf(batchOf('another'), messageAt(5))).toHaveLength(2);
  });

  it.each([
    ['loses a letter that was written meanwhile', batchOf('d'), 0],
    ['does not affect a batch of another log', batchOf('another'), 1],
    ['does not affect a message at its first offset', messageAt(5), 1],
  ])('%s', async (_, message, left) => {
    const since = new Date();
    await lettersIn(db).insertOne(letterOf(message));
    await decisionsIn(control).insertOne(decisionToDrop(letterOf(batchOf('d'))));
    await forgetDropped(control, { db, since }, 'batches');
    expect(await lettersIn(db).countDocuments()).toBe(left);
  });
});
