import { beforeAll, expect, it } from 'vitest';
import { useInstallation } from '#test/hooks.ts';
import type { Db } from 'mongodb';
import { leaveOutDropped, noteSkip, skippedTo } from '#shared/projection/dead-letters/decisions.ts';

const installation = useInstallation();
let control: Db;
beforeAll(async () => {
  control = installation.mongodb.db(`${installation.config.namePrefix}_control`);
});

const place = { topic: 't', partition: 0 };
const skip = { from: 5, digest: 'd', reason: 'corrupt', detail: 'its checksum is wrong' };

it('a skip applies to its batch, and drops no letters', async () => {
  await noteSkip(control, place, skip, 9);
  expect(await skippedTo(control, 't', 0, skip)).toBe(9);
  expect(await skippedTo(control, 't', 0, { from: 5, digest: 'another' })).toBeNull();
  const messages = [{ key: null, value: null, offset: '5', timestamp: '0', attributes: 0 }];
  const slice = { ...place, messages, next: 6 };
  expect(await leaveOutDropped(control, slice)).toEqual(slice);
});

it('decisions of an earlier release still apply, and it can read present ones', async () => {
  const former = control.collection<{ _id: string; to: number; digest: string }>('skipped_batches');
  expect(await former.findOne({ _id: 't/0/5' })).toMatchObject({ ...place, ...skip, to: 9 });
  await former.insertOne({ _id: 't/1/5', to: 7, digest: 'd' });
  expect(await skippedTo(control, 't', 1, skip)).toBe(7);
});
