import { expect, it } from 'vitest';
import type { Checkpoint } from '#shared/projection/slice/checkpoint.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import { orderEvent } from '#test/events.ts';
import { useInstallation, useRestartableProjector } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { readModels } from '#test/read-models.ts';
import { endsOf } from '#test/topics.ts';

const BACKLOG = 4_000;

const order = (storeId: string, sequence: number) =>
  orderEvent(`o${sequence}`, { storeId, sequence });

const installation = useInstallation({
  partitions: 2,
  settings: { PROJECTOR_SLICE_EVENTS: '1' },
});
const projector = useRestartableProjector(installation);

/** The log ends by partition. */
const ends = () => endsOf(installation.kafka, changesTopic(installation.environment));
const position = async (partition: number) => {
  const db = await readModels(installation).catch(() => null);
  const checkpoint = await db?.collection<Checkpoint>(CHECKPOINTS).findOne({ partition });
  return checkpoint?.position ?? 0;
};

it('a partition with a long backlog that is applied slowly does not delay another partition that came in the same fetch', async () => {
  await installation.publish(Array.from({ length: BACKLOG }, (_, index) => order('s1', index)));
  const busy = [...(await ends())].find(([, end]) => end > 0)?.[0] ?? 0;
  const other = 1 - busy;
  let neighbour = '';
  for (let store = 2; ((await ends()).get(other) ?? 0) === 0; store += 1) {
    neighbour = `s${store}`;
    await installation.publish([order(neighbour, 1)]);
  }
  await projector.start();
  await eventually('both are being applied', async () =>
    (await Promise.all([position(busy), position(other)])).every((at) => at > 0),
  );
  const before = await position(other);
  await installation.publish([order(neighbour, 2)]);
  await eventually('the other partition is applied', async () => (await position(other)) > before);
  expect(await position(busy)).toBeLessThan(BACKLOG);
});
