/** What the projector counts, by its glossary's names. No label ever holds an id of a store or a person. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

export interface ProjectorMetrics {
  registry: Registry;
  /** Events that took effect. */
  applied: Counter<'environment' | 'entity'>;
  /** Events that changed nothing: not above the version last applied. */
  outdated: Counter<'environment'>;
  deadLetters: Counter<'environment' | 'topic' | 'reason'>;
  /** Messages of a partition that are not applied yet. */
  lag: Gauge<'topic' | 'partition'>;
  /** Seconds from an event's `time` to its commit. */
  freshness: Histogram<'environment'>;
  transactionSeconds: Histogram<'topic'>;
  transactionFailures: Counter<'topic' | 'kind'>;
  /** 1 while a partition is stopped because going on would lose events. */
  stopped: Gauge<'topic' | 'partition'>;
  /** Changes of access that Redis does not know yet. */
  accessPending: Gauge;
  /** Keys and stores of which Redis knows newer changes than MongoDB. */
  accessAhead: Gauge;
}

/** Makes the metrics of one projector process. */
export function createMetrics(): ProjectorMetrics {
  const registry = new Registry();
  const registers = [registry];
  return {
    registry,
    applied: new Counter({
      name: 'store_data_events_applied_total',
      help: 'Events that took effect',
      labelNames: ['environment', 'entity'],
      registers,
    }),
    outdated: new Counter({
      name: 'store_data_events_outdated_total',
      help: 'Events that changed nothing because a version as new was applied before',
      labelNames: ['environment'],
      registers,
    }),
    deadLetters: new Counter({
      name: 'store_data_dead_letters_total',
      help: 'Messages that became dead letters',
      labelNames: ['environment', 'topic', 'reason'],
      registers,
    }),
    lag: new Gauge({
      name: 'store_data_partition_lag',
      help: 'Messages of a partition that are not applied yet',
      labelNames: ['topic', 'partition'],
      registers,
    }),
    freshness: new Histogram({
      name: 'store_data_freshness_seconds',
      help: 'Seconds from the time of an event to its commit',
      labelNames: ['environment'],
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600],
      registers,
    }),
    transactionSeconds: new Histogram({
      name: 'store_data_transaction_seconds',
      help: 'Seconds that the transaction of a slice takes',
      labelNames: ['topic'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
      registers,
    }),
    transactionFailures: new Counter({
      name: 'store_data_transaction_failures_total',
      help: 'Transactions that failed and are tried again',
      labelNames: ['topic', 'kind'],
      registers,
    }),
    stopped: new Gauge({
      name: 'store_data_partition_stopped',
      help: '1 while a partition is stopped because going on would lose events',
      labelNames: ['topic', 'partition'],
      registers,
    }),
    accessPending: new Gauge({
      name: 'store_data_access_pending',
      help: 'Changes of access that Redis does not know yet',
      registers,
    }),
    accessAhead: new Gauge({
      name: 'store_data_access_ahead',
      help: 'Keys and stores of which Redis knows newer changes than MongoDB, as after the restoring of a backup',
      registers,
    }),
  };
}
