import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Collection } from 'mongodb';
import { boundedBy } from '#query/deadline.ts';
import { batchedLookUp } from '#query/token/batched-look-up.ts';
import { createInstallation, type Installation } from '#test/installation.ts';

interface Thing {
  _id: string;
  value: number;
}

let installation: Installation;
let things: Collection<Thing>;
beforeAll(async () => {
  installation = await createInstallation();
  things = installation.mongodb.db(`${installation.config.namePrefix}_control`).collection('things');
  await things.insertMany(Array.from({ length: 50 }, (_, value) => ({ _id: `t${value}`, value })));
});
afterAll(() => installation?.close());

describe('a batched look-up', () => {
  it('gives everybody their own document, and null where there is none', async () => {
    const lookUp = batchedLookUp(things, boundedBy(10_000));
    const ids = Array.from({ length: 200 }, (_, index) => `t${index % 60}`);
    const found = await Promise.all(ids.map((id) => lookUp(id)));
    expect(found.map((thing) => thing?.value ?? null)).toEqual(
      ids.map((_, index) => (index % 60 < 50 ? index % 60 : null)),
    );
  });

  it('reads what is true when it is asked for, also while another is under way', async () => {
    const lookUp = batchedLookUp(things, boundedBy(10_000));
    for (let value = 1_000; value < 1_050; value += 1) {
      const early = lookUp('t1');
      await things.updateOne({ _id: 't1' }, { $set: { value } }, { writeConcern: { w: 'majority' } });
      expect((await lookUp('t1'))?.value).toBe(value);
      await early;
    }
  });

  it('asks few times for many', async () => {
    let reads = 0;
    const bounded = boundedBy(10_000);
    const lookUp = batchedLookUp(things, (read) => {
      reads += 1;
      return bounded(read);
    });
    await Promise.all(Array.from({ length: 500 }, (_, index) => lookUp(`t${index}`)));
    expect(reads).toBe(1);
  });

  it('fails for all that wait when the server does, and goes on afterwards', async () => {
    let fails = true;
    const bounded = boundedBy(10_000);
    const lookUp = batchedLookUp(things, (read) =>
      fails ? Promise.reject(new Error('away')) : bounded(read),
    );
    const outcomes = await Promise.allSettled(['t1', 't2', 't2'].map((id) => lookUp(id)));
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    fails = false;
    expect((await lookUp('t2'))?.value).toBe(2);
  });
});
