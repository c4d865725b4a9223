import { expect, it } from 'vitest';
import { Epochs } from '#shared/projection/slice/epochs.ts';
import { COLLECTIONS, type ReadModelDocument, stampsIn } from '#shared/read-models/collections.ts';
import { epochsIn } from '#shared/read-models/feed-epochs.ts';
import { anOrder } from '#test/changes.ts';
import { useInstallation } from '#test/hooks.ts';
import { emptyReadModels, stampOf } from '#test/read-models.ts';
import { applyEvents } from '#test/slices.ts';

const installation = useInstallation();

/**
 * The steps after the first order, which this process applies; and the first positions of the
 * epochs.
 */
const CASES: Record<string, { steps: string[]; begin: number[] }> = {
  'continues as long as the same process gives them': {
    steps: ['ours o1 o2', 'ours o3'],
    begin: [1],
  },
  'ends where another process gives one': { steps: ['another o2', 'ours o3'], begin: [1, 2, 3] },
  'ends where the outcome of a commit is unknown': {
    steps: ['unknown o2', 'ours o3'],
    begin: [1, 3],
  },
  'ends where a commit of unknown outcome succeeded and was then lost with the database': {
    steps: ['unknown o2', 'restore', 'ours o3'],
    begin: [1, 2],
  },
  'ends where the database is an older one, also if the same process continues': {
    steps: ['ours o2 o3', 'restore', 'ours o2 o3'],
    begin: [1, 2],
  },
};

it.each(Object.entries(CASES))(
  'positions are given under an epoch that %s',
  async (_, { steps, begin }) => {
    const db = await emptyReadModels(installation);
    const ours = new Epochs();
    await applyEvents(db, [anOrder('o1')], { epochs: ours });
    const backup = await stampOf(db);
    let position = 1;
    for (const step of steps) {
      const [what, ...ids] = step.split(' ');
      if (what === 'restore') {
        await stampsIn(db).replaceOne({ _id: 's1' }, backup);
        await db
          .collection<ReadModelDocument>(COLLECTIONS.order)
          .deleteMany({ feed_position: { $gt: 1 } });
        position = 1;
        continue;
      }
      const orders = ids.map((id) => anOrder(id));
      const epochs = what === 'another' ? new Epochs() : ours;
      await applyEvents(db, orders, { epochs, isKnown: what !== 'unknown' });
      position += ids.length;
    }
    const { epochs, position: last } = await stampOf(db);
    expect(last).toBe(position);
    expect(epochsIn(epochs).map(({ from }) => from)).toEqual(begin);
    expect(new Set(epochsIn(epochs).map(({ id }) => id)).size).toBe(begin.length);
  },
);
