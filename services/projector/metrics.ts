/**
 * What the projector counts, by its glossary's names. No label ever holds an id of a store or a person. The label
 * `generation` is `g` and a number, or `control` for access, which belongs to no generation.
 */
import { poolMetrics } from '#shared/mongodb.ts';
import { createRegistry, metricFactory } from '#shared/process-metrics.ts';
import { redisSeconds } from '#shared/redis.ts';
import type { DeadLetter } from '#shared/read-models/collections.ts';
import { GENERATION_LABELS } from '#shared/read-models/generation.ts';

export type ProjectorMetrics = ReturnType<typeof createMetrics>;

/** Makes the metrics of one projector process. */
export function createMetrics() {
  const registry = createRegistry();
  const { counter, gauge, histogram } = metricFactory(registry);
  return {
    registry,
    pool: poolMetrics({ gauge, histogram }),
    redisSeconds: redisSeconds({ histogram }),
    assignments: counter(
      'store_data_assignments_total',
      'How often this process was assigned its partitions anew, as projectors come and go',
      ['topic', 'generation'],
    ),
    applied: counter('store_data_events_applied_total', 'Events that took effect', [
      'environment',
      'generation',
      'entity',
    ]),
    outdated: counter(
      'store_data_events_outdated_total',
      'Events that changed nothing because a version as new was applied before',
      ['environment', 'generation'],
    ),
    newerSchema: counter(
      'store_data_events_newer_schema_total',
      'Events that took effect though their schema is newer than any this release knows',
      ['environment', 'generation', 'entity'],
    ),
    deadLetters: counter('store_data_dead_letters_total', 'Messages that became dead letters', [
      'environment',
      'generation',
      'topic',
      'reason',
    ]),
    lag: gauge(
      'store_data_partition_lag',
      'Messages of a partition that are not applied yet; the last that is known while Kafka is away',
      ['topic', 'partition', 'generation'],
    ),
    kafkaConnected: gauge(
      'store_data_kafka_connected',
      '1 while Kafka answers what a consumer of this process asks',
      ['topic', 'generation'],
    ),
    fetched: gauge(
      'store_data_last_fetch_timestamp_seconds',
      'When Kafka last answered a consumer of this process, with messages or without, in seconds since 1970',
      ['topic', 'generation'],
    ),
    progress: gauge(
      'store_data_last_progress_timestamp_seconds',
      'When a partition last applied something or had nothing to apply, in seconds since 1970',
      ['topic', 'partition', 'generation'],
    ),
    freshness: histogram(
      'store_data_freshness_seconds',
      'Seconds from the time of an event to its commit, in generations that answer',
      [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600],
      ['environment', 'generation'],
    ),
    transactionSeconds: histogram(
      'store_data_transaction_seconds',
      'Seconds that the transaction of a slice takes',
      [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
      ['topic', 'generation'],
    ),
    transactionFailures: counter(
      'store_data_transaction_failures_total',
      'Transactions that failed and are tried again',
      ['topic', 'generation', 'kind'],
    ),
    stopped: gauge(
      'store_data_partition_stopped',
      '1 while a partition is stopped because going on would lose events',
      ['topic', 'partition', 'generation'],
    ),
    unreadable: gauge(
      'store_data_partition_unreadable',
      '1 while a partition is stopped before a damaged record batch',
      ['topic', 'partition', 'generation', 'reason'],
    ),
    failing: gauge(
      'store_data_partition_failing',
      'How often in turn what a partition applies next has failed though MongoDB answered',
      ['topic', 'partition', 'generation'],
    ),
    environmentStopped: gauge(
      'store_data_environment_stopped',
      '1 while a mistake keeps an environment, or a generation of it, from being projected',
      ['environment'],
    ),
    generations: gauge(
      'store_data_generation',
      '1 for each generation that this process projects: live, building, kept',
      [...GENERATION_LABELS, 'state'],
    ),
    accessPending: gauge(
      'store_data_access_pending',
      'Changes of access that Redis or the log does not know yet',
    ),
    accessAhead: gauge(
      'store_data_access_ahead',
      'Keys and stores of which Redis knows newer changes than MongoDB, as after the restoring of a backup',
    ),
    /** Of dead letters that wait; every process shows the same of one box. */
    letters: {
      open: gauge('store_data_dead_letters_open', 'Dead letters that wait for somebody to decide', [
        'environment',
        'topic',
        'database',
      ]),
      bytes: gauge('store_data_dead_letters_bytes', 'Bytes of messages that dead letters keep', [
        'environment',
        'topic',
        'database',
      ]),
      used: gauge(
        'store_data_dead_letters_used_ratio',
        'The part of their room that dead letters have used up; at 1 messages are no longer kept',
        ['environment', 'topic', 'database'],
      ),
      oldestSeconds: gauge(
        'store_data_dead_letters_oldest_seconds',
        'For how long the oldest dead letter has been waiting',
        ['environment', 'topic', 'database'],
      ),
      expired: counter(
        'store_data_dead_letters_expired_total',
        'Dead letters that expired without anybody deciding',
        ['environment', 'topic', 'reason'],
      ),
    },
    /** Of erasures in the background; every process shows the same of what is left in one generation. */
    erasures: {
      erased: counter(
        'store_data_documents_erased_total',
        'Orders and reviews from which the data of a deleted customer was removed behind the deletion, in pieces',
        ['environment', 'generation'],
      ),
      open: gauge(
        'store_data_erasures',
        'Deleted customers of whom something is still stored, though it is not shown',
        ['environment', 'generation'],
      ),
      oldestSeconds: gauge(
        'store_data_erasures_oldest_seconds',
        'For how long the oldest of these erasures has been under way',
        ['environment', 'generation'],
      ),
    },
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
