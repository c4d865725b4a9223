import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AccessKey, type ControlCollections, controlCollections } from '#shared/access/access-keys.ts';
import { controlDatabase } from '#shared/read-models/databases.ts';
import { deadlineAfter } from '#query/deadline.ts';
import { keyReader } from '#query/token/client.ts';
import { createInstallation, type Installation } from '#test/installation.ts';

let installation: Installation;
let control: ControlCollections;
beforeAll(async () => {
  installation = await createInstallation();
  control = controlCollections(controlDatabase(installation.mongodb, installation.config.namePrefix));
  await control.keys.insertMany(Array.from({ length: 50 }, (_, version) => key(`k${version}`, version)));
});
afterAll(() => installation?.close());

function key(_id: string, version: number): AccessKey {
  return {
    _id,
    environment: 'e',
    store_id: 's1',
    secret_hashes: [],
    scopes: [],
    status: 'active',
    sequence: 1,
    version,
    updated_at: new Date(),
  };
}

describe('keys that are read together', () => {
  it('go to those who asked for them, and null where there is none', async () => {
    const read = keyReader(control, deadlineAfter(10_000));
    const ids = Array.from({ length: 200 }, (_, index) => `k${index % 60}`);
    const found = await Promise.all(ids.map((id) => read(id)));
    expect(found.map((one) => one?.version ?? null)).toEqual(
      ids.map((_, index) => (index % 60 < 50 ? index % 60 : null)),
    );
  });

  it('are as they are when they are asked for, also while others are being read', async () => {
    const read = keyReader(control, deadlineAfter(10_000));
    for (let version = 1_000; version < 1_050; version += 1) {
      const early = read('k1');
      await control.keys.updateOne({ _id: 'k1' }, { $set: { version } }, { writeConcern: { w: 'majority' } });
      expect((await read('k1'))?.version).toBe(version);
      await early;
    }
  });

  it('cost few questions', async () => {
    let reads = 0;
    const withDeadline = deadlineAfter(10_000);
    const read = keyReader(control, (run) => {
      reads += 1;
      return withDeadline(run);
    });
    await Promise.all(Array.from({ length: 500 }, (_, index) => read(`k${index}`)));
    expect(reads).toBe(1);
  });

  it('fail for all that wait when the server does, and are read again afterwards', async () => {
    let fails = true;
    const withDeadline = deadlineAfter(10_000);
    const read = keyReader(control, (run) => (fails ? Promise.reject(new Error('away')) : withDeadline(run)));
    const outcomes = await Promise.allSettled(['k1', 'k2', 'k2'].map((id) => read(id)));
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    fails = false;
    expect((await read('k2'))?.version).toBe(2);
  });
});
