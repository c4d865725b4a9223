/** Which events tell how fresh answers are. */
import { expect, it } from 'vitest';
import { beginOfAge } from '#projector/generation.ts';
import { orderEvent } from '#test/events.ts';
import { eventually } from '#test/eventually.ts';
import { useInstallation } from '#test/hooks.ts';
import { startSilentProjector } from '#test/projectors.ts';
import { caughtUp } from '#test/read-models.ts';

const DAY_MS = 86_400_000;

it.each([
  ['the time of an event', 1_000_000, 1_000_200, 1_000_000],
  ['that of a late publisher too', 1_000_000, 1_599_000, 1_000_000],
  ['when Kafka took it, if that is much later', 1_000_000, 1_700_000, 1_700_000],
  ['the time of an event that is dated ahead', 2_000_000, 1_000_000, 2_000_000],
  ['nothing, if Kafka had it before the generation was made', 1_000, 2_000, null],
])('age counts from %s', (_what, time, takenAt, expected) => {
  expect(beginOfAge(time, takenAt, 500_000)).toBe(expected);
});

const installation = useInstallation({ partitions: 1 });

it('neither the fill of a first generation nor old events that are published again are stale', async () => {
  const old = (id: string) => orderEvent(id, { time: new Date(Date.now() - 30 * DAY_MS) });
  await installation.publish([old('o1'), old('o2')]);
  const projector = await startSilentProjector(installation);
  try {
    await caughtUp(installation);
    await installation.publish([old('o3'), orderEvent('o4')]);
    await caughtUp(installation);
    const value = async (name: string) => {
      const { values } = await projector.metrics.freshness.get();
      return values.find(({ metricName }) => metricName?.endsWith(name))?.value;
    };
    // Observed after the commit.
    await eventually('both are observed', async () => (await value('_count')) === 2);
    expect(await value('_sum')).toBeLessThan(600);
  } finally {
    await projector.stop();
  }
});
