import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '#shared/config.ts';
import { createLogger } from '#shared/logging.ts';
import { COLLECTIONS, type OrderDocument } from '#shared/read-models/collections.ts';
import { type RunningProjector, startProjector } from '#projector/projector.ts';
import { createInstallation, eventually, type Installation } from '#test/installation.ts';
import { caughtUp, dump, readModels } from '#test/read-models.ts';
import { type StreamEvent, stream } from '#test/streams.ts';
import { allWithBodies, offsetsIn, orderEvents, rewritten, storeEvent } from './stores.ts';

const logger = createLogger('test', 'silent');

function start(
  installation: Installation,
  environment: string,
  settings: Record<string, string> = {},
): Promise<RunningProjector> {
  return startProjector(readConfig({ ...installation.env, ENVIRONMENTS: environment, ...settings }), logger);
}

describe('rewriting', () => {
  let installation: Installation;
  let projector: RunningProjector;
  beforeAll(async () => {
    installation = await createInstallation({ settings: { PROJECTOR_REWRITING_SHARE: '100' } });
    projector = await start(installation, installation.environment);
  });
  afterAll(async () => {
    await projector?.stop();
    await installation?.close();
  });
  const publish = async (events: StreamEvent[]) => {
    await installation.publish(events);
    await caughtUp(installation);
    return readModels(installation);
  };
  const order = async (id: string) =>
    (await readModels(installation)).collection<OrderDocument>(COLLECTIONS.order).findOne({ _id: id });

  it('makes bodies for the store’s new offset, and counts them', async () => {
    await publish([storeEvent('s1', 1, '-03:00'), ...orderEvents('s1', 30), ...orderEvents('s2', 5)]);
    const before = await order('s1/o7');
    const db = await publish([storeEvent('s1', 2, '+05:30')]);
    await rewritten(db);
    expect(await offsetsIn(db, 's1')).toEqual({ '+05:30': 31 });
    expect(await offsetsIn(db, 's2')).toEqual({ '-03:00': 5 });
    const after = await order('s1/o7');
    expect(after?.summary).toBe(before?.summary.replaceAll('2026-02-28T21:00:07', '2026-03-01T05:30:07'));
    expect(after?.whole).toBe(before?.whole.replaceAll('2026-02-28T21:00:07', '2026-03-01T05:30:07'));
    expect(after?.whole).not.toBe(before?.whole);
    expect({ ...after, offset: '', summary: '', whole: '' }).toEqual({
      ...before,
      offset: '',
      summary: '',
      whole: '',
    });
    await eventually('it is counted', async () => {
      const metrics = await projector.metrics.registry.metrics();
      return (
        /store_data_bodies_rewritten_total\{[^}]*\} 30\n/.test(metrics) &&
        /store_data_rewriting_stores\{[^}]*\} 0\n/.test(metrics) &&
        /store_data_rewriting_records\{[^}]*\} 0\n/.test(metrics)
      );
    });
  });

  it('follows a store whose record arrives after what belongs to it, and one that is deleted', async () => {
    await publish(orderEvents('s3', 3));
    let db = await publish([storeEvent('s3', 1, '-04:00')]);
    await rewritten(db);
    expect(await offsetsIn(db, 's3')).toEqual({ '-04:00': 4 });
    db = await publish([{ ...storeEvent('s3', 2, '-04:00'), action: 'deleted', data: undefined }]);
    await rewritten(db);
    expect(await offsetsIn(db, 's3')).toEqual({ '-03:00': 3 });
  });

  it('finds what was made while the store was away for the length of a slice', async () => {
    const db = await publish([
      storeEvent('s4', 1, '-03:00'),
      storeEvent('s4', 2, '+01:00'),
      ...orderEvents('s4', 2),
      storeEvent('s4', 3, '-03:00'),
    ]);
    await rewritten(db);
    expect(await offsetsIn(db, 's4')).toEqual({ '-03:00': 3 });
  });

  it('leaves alone what could not be shifted back', async () => {
    const [first, second] = orderEvents('s5', 2);
    const edge = { ...second, data: { ...(second?.data as object), scheduled_for: '9999-12-31T22:00:00Z' } };
    await publish([storeEvent('s5', 1, '-03:00'), first as StreamEvent, edge as StreamEvent]);
    const before = await order('s5/o1');
    const db = await publish([storeEvent('s5', 2, '+03:00')]);
    await rewritten(db);
    expect(await offsetsIn(db, 's5')).toEqual({ '+03:00': 2, '-03:00': 1 });
    expect(await order('s5/o1')).toEqual(before);
    expect(before?.summary).toContain('"scheduled_for":"9999-12-31T19:00:00"');
    const late = { ...edge, sequence: 1_000, subject: 'late' };
    const moved = await publish([late as StreamEvent, storeEvent('s5', 3, '-03:00')]);
    await rewritten(moved);
    expect(await offsetsIn(moved, 's5')).toEqual({ exact: 1, '-03:00': 3 });
    expect((await order('s5/late'))?.summary).toContain('"scheduled_for":"9999-12-31T22:00:00"');
  });
});

it('leads to the documents of stores that never moved, whatever comes meanwhile and however often they move', async () => {
  await fc.assert(
    fc.asyncProperty(stream, stream, async (one, two) => {
      const installation = await createInstallation({ environments: 2, partitions: 2 });
      const [moving = '', still = ''] = installation.config.environments;
      const settings = { PROJECTOR_SLICE_EVENTS: '7', PROJECTOR_REWRITING_SHARE: '100' };
      const projectors: RunningProjector[] = [];
      try {
        // The two of them share the stores and take each other's partitions while bodies are rewritten.
        projectors.push(await start(installation, moving, settings));
        projectors.push(await start(installation, moving, settings));
        projectors.push(await start(installation, still, settings));
        const events = [...one, ...two].filter(({ entity }) => entity !== 'store');
        const offsets = ['-03:00', '-04:00', '+05:30', '-02:00', '+05:30', '-04:30'];
        const quarter = Math.ceil(events.length / offsets.length);
        for (const [index, offset] of offsets.entries()) {
          const part = events.slice(index * quarter, (index + 1) * quarter);
          const moves = (to: string) => ['s1', 's2'].map((store) => storeEvent(store, index, to));
          await installation.publish([...moves(offset), ...part], moving);
          await installation.publish([...moves(offsets.at(-1) ?? ''), ...part], still);
        }
        const [moved, unmoved] = await Promise.all(
          [moving, still].map(async (environment) => {
            await caughtUp(installation, environment);
            const db = await readModels(installation, environment);
            await rewritten(db);
            return { bodies: await allWithBodies(db), all: await dump(db) };
          }),
        );
        const expected = unmoved?.bodies ?? {};
        for (const name of Object.keys(expected)) {
          expect(moved?.bodies[name], name).toEqual(expected[name]);
        }
        expect(moved?.all['stamps']).toEqual(unmoved?.all['stamps']);
      } finally {
        await Promise.all(projectors.map((projector) => projector.stop()));
        await installation.close();
      }
    }),
    { numRuns: 1, endOnFailure: true },
  );
});
