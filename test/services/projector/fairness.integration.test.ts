import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningProjector } from '#projector/projector.ts';
import type { Checkpoint } from '#shared/projection/slice/checkpoint.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import { orderEvent, orderMessage } from '#test/events.ts';
import { createInstallation, eventually, type Installation } from '#test/installation.ts';
import { startSilentProjector } from '#test/projectors.ts';
import { readModels } from '#test/read-models.ts';
import { endsOf } from '#test/topics.ts';

const BACKLOG = 4_000;

const order = (storeId: string, sequence: number) => orderEvent(`o${sequence}`, { storeId, sequence });

describe('a partition with a long backlog that is applied slowly', () => {
  let installation: Installation;
  let projector: RunningProjector | null = null;
  beforeAll(async () => {
    installation = await createInstallation({ partitions: 2, settings: { PROJECTOR_SLICE_EVENTS: '1' } });
  });
  afterAll(async () => {
    await projector?.stop();
    await installation?.close();
  });

  /** By partition: where the log ends. */
  const ends = () => endsOf(installation.kafka, changesTopic(installation.environment));
  const position = async (partition: number) => {
    const db = await readModels(installation).catch(() => null);
    const checkpoint = await db?.collection<Checkpoint>(CHECKPOINTS).findOne({ partition });
    return checkpoint?.position ?? 0;
  };

  it('holds up no other partition, although both came in one fetch', async () => {
    await installation.publish(Array.from({ length: BACKLOG }, (_, index) => order('s1', index)));
    const busy = [...(await ends())].find(([, end]) => end > 0)?.[0] ?? 0;
    const other = 1 - busy;
    let neighbour = '';
    for (let store = 2; ((await ends()).get(other) ?? 0) === 0; store += 1) {
      neighbour = `s${store}`;
      await installation.publish([order(neighbour, 1)]);
    }
    projector = await startSilentProjector(installation);
    await eventually('both are being applied', async () =>
      (await Promise.all([position(busy), position(other)])).every((at) => at > 0),
    );
    const before = await position(other);
    await installation.publish([order(neighbour, 2)]);
    await eventually('the other partition is applied', async () => (await position(other)) > before);
    expect(await position(busy)).toBeLessThan(BACKLOG);
  });
});

describe('the last of many partitions that all have a long backlog', () => {
  const PARTITIONS = 6;
  const EVENTS = 60;
  const A_BATCH = 4;
  /** Items whose notes are as long as they may be: 100 KB. */
  const LARGE = Array.from({ length: 20 }, () => ({
    product_id: 'p1',
    name: 'Pizza',
    quantity: 1,
    unit_price: '1.00',
    total: '1.00',
    notes: 'x'.repeat(5_000),
  }));
  let installation: Installation;
  let projector: RunningProjector | null = null;
  beforeAll(async () => {
    const settings = { PROJECTOR_SLICE_EVENTS: '1' };
    installation = await createInstallation({ partitions: PARTITIONS, settings });
  });
  afterAll(async () => {
    await projector?.stop();
    await installation?.close();
  });

  it('is applied beside the first ones, not after them', async () => {
    const topic = changesTopic(installation.environment);
    for (let first = 1; first <= EVENTS; first += A_BATCH) {
      const messages = Array.from({ length: PARTITIONS * A_BATCH }, (_, index) => {
        const partition = index % PARTITIONS;
        const sequence = first + Math.floor(index / PARTITIONS);
        const over = { storeId: `s${partition}`, sequence, data: { items: LARGE } };
        return { ...orderMessage(`o${sequence}`, over), partition };
      });
      await installation.send(topic, messages);
    }
    projector = await startSilentProjector(installation);
    const positions = async () => {
      const db = await readModels(installation).catch(() => null);
      const checkpoints = await db?.collection<Checkpoint>(CHECKPOINTS).find({ topic }).toArray();
      return checkpoints?.map(({ position }) => position) ?? [];
    };
    let seen: number[] = [];
    await eventually('the first are nearly done', async () => {
      seen = await positions();
      return Math.max(...seen) > EVENTS * 0.7;
    });
    expect(seen).toHaveLength(PARTITIONS);
    expect(Math.min(...seen)).toBeGreaterThan(EVENTS / 3);
  });
});
