import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Collection } from 'mongodb';
import {
  applyWithCheckpoint,
  type Checkpoint,
  type Claim,
  claimCheckpoint,
} from '#shared/projection/slice/checkpoint.ts';
import type { Slice } from '#shared/projection/slice/slice.ts';
import { createInstallation, type Installation } from '#test/installation.ts';

let installation: Installation;
let checkpoints: Collection<Checkpoint>;
let written: Collection;
let topic: string;

beforeAll(async () => {
  installation = await createInstallation();
  const db = installation.databases.control;
  checkpoints = db.collection<Checkpoint>('checkpoints_of_a_test');
  written = db.collection('written_by_a_test');
  await db.createCollection('written_by_a_test');
});

afterAll(async () => {
  await installation.close();
});

let tests = 0;
beforeEach(() => {
  tests += 1;
  topic = `t${tests}`;
});

const claim = () => claimCheckpoint(installation.mongodb, checkpoints, topic, 0, null);

const slice = (next: number): Slice => ({
  topic,
  partition: 0,
  next,
  messages: [
    {
      key: Buffer.from('s1'),
      value: Buffer.from('{}'),
      timestamp: '1790000000000',
      attributes: 0,
      offset: String(next - 1),
      headers: {},
    },
  ],
});

/** Writes a document in the transaction that moves the checkpoint. */
const apply = (owner: Claim, next: number) =>
  applyWithCheckpoint(checkpoints, owner, slice(next), async (moveCheckpoint) => {
    await moveCheckpoint();
    await written.insertOne({ topic, next }, { session: owner.session });
  });

const offsets = async () => (await written.find({ topic }).toArray()).map(({ next }) => Number(next));

describe('a claimed checkpoint', () => {
  it('moves with what is written', async () => {
    const owner = await claim();
    await apply(owner, 1);
    await apply(owner, 2);
    expect(await offsets()).toEqual([1, 2]);
    expect(await checkpoints.findOne({ topic })).toMatchObject({ position: 2, owner: owner.owner });
  });

  it('lets its former owner write nothing', async () => {
    const former = await claim();
    await apply(former, 1);
    const owner = await claim();
    await expect(apply(former, 2)).rejects.toMatchObject({ code: 'fenced' });
    await apply(owner, 2);
    expect(await offsets()).toEqual([1, 2]);
  });

  it('lets its owner write nothing from another position than the stored one', async () => {
    const owner = await claim();
    await apply(owner, 1);
    await checkpoints.updateOne({ topic }, { $set: { position: 0 } });
    await expect(apply(owner, 2)).rejects.toMatchObject({ code: 'fenced' });
    expect(await offsets()).toEqual([1]);
  });

  it('ends the transaction that its former owner left open', async () => {
    const former = await claim();
    former.session.startTransaction();
    await checkpoints.updateOne({ topic }, { $set: { position: 7 } }, { session: former.session });
    const owner = await claim();
    await apply(owner, 1);
    expect(await offsets()).toEqual([1]);
    await former.session.endSession();
  });
});
