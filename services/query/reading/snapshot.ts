/** The options of a read that is a snapshot by itself. */
import type { AggregateOptions } from 'mongodb';

/**
 * One aggregate is one snapshot and one round trip, also when it unites several collections. A first batch as
 * large as the largest page spares a second trip.
 */
export const SNAPSHOT: AggregateOptions = {
  readConcern: { level: 'snapshot' },
  batchSize: 1_000,
  enableUtf8Validation: false,
};
