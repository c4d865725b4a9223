/** The projector's counts, through its restarts. */
import { expect, test } from 'vitest';
import { ProjectorWatch } from '#local/start/projector-watch.ts';
import { readSamples } from '#local/start/samples.ts';

const scrape = (orders: number, lag: number) =>
  readSamples(`
# HELP store_data_events_applied_total Events that took effect
# TYPE store_data_events_applied_total counter
store_data_events_applied_total{environment="production",entity="order"} ${orders}
store_data_events_applied_total{environment="production",entity="access_key"} 6
store_data_events_outdated_total{environment="production"} 2
store_data_dead_letters_total{environment="production",topic="store-changes.production",reason="malformed"} 1
store_data_dead_letters_total{environment="production",topic="store-access.production",reason="malformed"} 4
store_data_partition_lag{topic="store-changes.production",partition="0"} ${lag}
store_data_partition_lag{topic="store-changes.sandbox",partition="0"} 1
store_data_partition_lag{topic="store-access.production",partition="0"} 7
store_data_access_pending 3
store_data_freshness_seconds_bucket{le="0.1",environment="production",generation="g1"} 9
`);

test('adds up what it finds', () => {
  expect(new ProjectorWatch('http://x').take(scrape(100, 20))).toEqual({
    applied: 106,
    changesHandled: 103,
    keysApplied: 6,
    deadLetters: 5,
    changesLag: 21,
    accessLag: 7,
    accessPending: 3,
    freshness: new Map([[0.1, 9]]),
  });
});

test('goes on counting when the projector begins again', () => {
  const watch = new ProjectorWatch('http://x');
  watch.take(scrape(100, 20));
  expect(watch.take(scrape(30, 0)).applied).toBe(136);
  expect(watch.take(scrape(50, 0)).applied).toBe(156);
});

test('the lag is unknown while there are no partitions', () => {
  expect(new ProjectorWatch('http://x').take([]).changesLag).toBeNull();
});
