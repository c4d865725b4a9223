/**
 * What the projector counts, by its glossary's names. No label ever holds an id of a store or a person. The label
 * `generation` is `g` and a number, or `control` for access, which belongs to no generation.
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { createRegistry } from '#shared/process-metrics.ts';
import type { DeadLetter } from '#shared/read-models/collections.ts';

export interface ProjectorMetrics {
  registry: Registry;
  /** Events that took effect. */
  applied: Counter<'environment' | 'generation' | 'entity'>;
  /** Events that changed nothing: not above the version last applied. */
  outdated: Counter<'environment' | 'generation'>;
  /** Events that took effect though their schema is newer than any this release knows: optional fields may be lost on it. */
  newerSchema: Counter<'environment' | 'generation' | 'entity'>;
  deadLetters: Counter<'environment' | 'generation' | 'topic' | 'reason'>;
  /** Messages of a partition that are not applied yet. */
  lag: Gauge<'topic' | 'partition' | 'generation'>;
  /** Seconds from an event's `time` to its commit, in generations that answer. */
  freshness: Histogram<'environment' | 'generation'>;
  transactionSeconds: Histogram<'topic' | 'generation'>;
  transactionFailures: Counter<'topic' | 'generation' | 'kind'>;
  /** 1 while a partition is stopped because going on would lose events. */
  stopped: Gauge<'topic' | 'partition' | 'generation'>;
  /** 1 while a partition is stopped because a record batch cannot be read. */
  unreadable: Gauge<'topic' | 'partition' | 'generation' | 'reason'>;
  /** How often in turn what a partition applies next has failed though MongoDB answered; absent where it does not fail. */
  failing: Gauge<'topic' | 'partition' | 'generation'>;
  /** 1 for each generation that this process projects, by what it is. */
  generations: Gauge<'environment' | 'generation' | 'state'>;
  /** Changes of access that Redis does not know yet. */
  accessPending: Gauge;
  /** Keys and stores of which Redis knows newer changes than MongoDB. */
  accessAhead: Gauge;
}

/** Makes the metrics of one projector process. */
export function createMetrics(): ProjectorMetrics {
  const registry = createRegistry();
  const registers = [registry];
  return {
    registry,
    applied: new Counter({
      name: 'store_data_events_applied_total',
      help: 'Events that took effect',
      labelNames: ['environment', 'generation', 'entity'],
      registers,
    }),
    outdated: new Counter({
      name: 'store_data_events_outdated_total',
      help: 'Events that changed nothing because a version as new was applied before',
      labelNames: ['environment', 'generation'],
      registers,
    }),
    newerSchema: new Counter({
      name: 'store_data_events_newer_schema_total',
      help: 'Events that took effect though their schema is newer than any this release knows',
      labelNames: ['environment', 'generation', 'entity'],
      registers,
    }),
    deadLetters: new Counter({
      name: 'store_data_dead_letters_total',
      help: 'Messages that became dead letters',
      labelNames: ['environment', 'generation', 'topic', 'reason'],
      registers,
    }),
    lag: new Gauge({
      name: 'store_data_partition_lag',
      help: 'Messages of a partition that are not applied yet',
      labelNames: ['topic', 'partition', 'generation'],
      registers,
    }),
    freshness: new Histogram({
      name: 'store_data_freshness_seconds',
      help: 'Seconds from the time of an event to its commit, in generations that answer',
      labelNames: ['environment', 'generation'],
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600],
      registers,
    }),
    transactionSeconds: new Histogram({
      name: 'store_data_transaction_seconds',
      help: 'Seconds that the transaction of a slice takes',
      labelNames: ['topic', 'generation'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
      registers,
    }),
    transactionFailures: new Counter({
      name: 'store_data_transaction_failures_total',
      help: 'Transactions that failed and are tried again',
      labelNames: ['topic', 'generation', 'kind'],
      registers,
    }),
    stopped: new Gauge({
      name: 'store_data_partition_stopped',
      help: '1 while a partition is stopped because going on would lose events',
      labelNames: ['topic', 'partition', 'generation'],
      registers,
    }),
    unreadable: new Gauge({
      name: 'store_data_partition_unreadable',
      help: '1 while a partition is stopped because a record batch cannot be read',
      labelNames: ['topic', 'partition', 'generation', 'reason'],
      registers,
    }),
    failing: new Gauge({
      name: 'store_data_partition_failing',
      help: 'How often in turn what a partition applies next has failed though MongoDB answered',
      labelNames: ['topic', 'partition', 'generation'],
      registers,
    }),
    generations: new Gauge({
      name: 'store_data_generation',
      help: '1 for each generation that this process projects: live, building, kept',
      labelNames: ['environment', 'generation', 'state'],
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

/** Counts what became dead letters. */
export function countDeadLetters(
  metrics: ProjectorMetrics,
  environment: string,
  generation: string,
  letters: readonly DeadLetter[],
): void {
  for (const { topic, reason } of letters) {
    metrics.deadLetters.inc({ environment, generation, topic, reason });
  }
}
