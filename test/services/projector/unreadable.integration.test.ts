/** Invalid record batches with a valid checksum are poison, and do not block later messages. */
import zlib from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { keyEvent, orderEvent, orderMessage } from '#test/events.ts';
import { useInstallation, useProjector } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { produceRaw } from '#test/raw-produce.ts';
import { caughtUp, idsIn, readModels } from '#test/read-models.ts';
import { encodeBatch, type RecordToEncode } from '#test/record-batches.ts';
import { times } from '#test/times.ts';
import { expectRefused, runCommand, runJson } from '../admin/run-command.ts';

const MIB = 1_048_576;

const order = (subject: string, rest: RecordToEncode = {}): RecordToEncode => ({
  key: Buffer.from('s1'),
  value: Buffer.from(orderMessage(subject).value),
  ...rest,
});
const batchOf = (...records: (RecordToEncode | Buffer)[]) => encodeBatch({ records });
/** Compressed, since brokers hardly check compressed records. */
const compressed = (...records: (RecordToEncode | Buffer)[]) =>
  encodeBatch({ records, codec: { number: 4, pack: (bytes) => zlib.zstdCompressSync(bytes) } });

type Letter = Record<string, unknown>;

/** Sent batches, applied orders, and dead letters. */
const CASES: Record<string, { batch: () => Buffer; applied: string[]; letters: Letter[] }> = {
  'whose record says that it lies thirty behind': {
    batch: () => batchOf(order('ahead', { offsetDelta: 30 })),
    applied: ['ahead'],
    letters: [],
  },
  'with a hundred thousand headers': {
    batch: () =>
      compressed(order('headers', { headers: times(100_000, () => ['h', null]) }), order('few')),
    applied: ['few'],
    letters: [{ reason: 'too_large', detail: 'the message has more than 10000 headers' }],
  },
  'that unpacks to more than 64 MiB': {
    batch: () => compressed({ value: Buffer.alloc(80 * MIB) }, order('unpacked')),
    applied: [],
    letters: [
      {
        reason: 'unreadable',
        detail: expect.stringContaining('unpacks to more than'),
        gathered: { count: 2, last_offset: expect.any(Number) },
      },
    ],
  },
};

describe('an intact record batch', () => {
  const installation = useInstallation({ partitions: 1 });
  const projector = useProjector(installation);
  let topic: string;
  beforeAll(async () => {
    topic = changesTopic(installation.environment);
  });

  const produce = (batch: Buffer, to = topic) =>
    produceRaw(installation.kafka, { topic: to, partition: 0 }, batch);
  const orders = async () =>
    (await idsIn(await readModels(installation), 'orders')).map((id) => id.slice('s1/'.length));
  const letters = async () =>
    (await runJson<{ dead_letters: Letter[] }>(installation.env, 'dead-letters list')).dead_letters;
  const stopped = async () =>
    (await projector.metrics.stopped.get()).values.filter(({ value }) => value === 1);

  it.each(Object.entries(CASES))(
    '%s neither blocks nor hides messages',
    async (_what, { batch, ...expected }) => {
      const before = { orders: await orders(), letters: await letters() };
      const at = await produce(batch());
      const behind = times(8, (index) => `${at}-${index}`);
      await installation.publish(behind.map((subject) => orderEvent(subject)));
      await caughtUp(installation);
      const applied = (await orders()).filter((id) => !before.orders.includes(id));
      expect(applied.toSorted()).toEqual([...expected.applied, ...behind].toSorted());
      const written = (await letters()).slice(before.letters.length);
      expect(written).toMatchObject(
        expected.letters.map((letter) => ({ ...letter, id: `${topic}/0/${at}` })),
      );
      expect(await stopped()).toEqual([]);
    },
  );

  it('that cannot be read cannot be retried or skipped', async () => {
    const letter = (await letters()).find(({ reason }) => reason === 'unreadable');
    const id = String(letter?.['id']);
    const retried = await runCommand(installation.env, `dead-letters retry ${id}`);
    expect(retried).toMatchObject({ code: 1, stdout: 'applied 0, outdated 0, still dead 1\n' });
    const place = `--topic ${topic} --partition 0 --offset ${id.split('/').at(-1)}`;
    const skipped = runCommand(installation.env, `dead-letters skip ${place} --yes`);
    await expectRefused(skipped, 'is intact');
  });

  it('on the access topic does not delay revocations', async () => {
    const access = accessTopic(installation.environment);
    const keys = installation.databases.control.collection('access_keys');
    for (const { batch } of Object.values(CASES)) await produce(batch(), access);
    await installation.publishAccess([keyEvent('client', 1, { status: 'revoked' })]);
    await eventually('it is revoked', async () => (await keys.countDocuments()) === 1);
    expect(await stopped()).toEqual([]);
  });
});
