/**
 * The metrics of the projector. No label holds the id of a store or a person. `generation` is `g3`,
 * or `control` for access.
 */
import { poolMetrics } from '#shared/mongodb.ts';
import { createRegistry, metricFactory } from '#shared/operations.ts';
import { redisSeconds } from '#shared/redis.ts';
import { GENERATION_LABELS } from '#shared/read-models/generation.ts';

const OF_TOPIC = ['topic', 'generation'] as const;
const OF_PARTITION = ['topic', 'partition', 'generation'] as const;
const OF_GENERATION = ['environment', 'generation'] as const;
const OF_ENTITY = ['environment', 'generation', 'entity'] as const;
const OF_DEAD = [...OF_GENERATION, 'topic', 'reason'] as const;
const OF_LETTERS = ['environment', 'topic', 'database'] as const;

export type ProjectorMetrics = ReturnType<typeof createMetrics>;

export function createMetrics() {
  const registry = createRegistry();
  const { counter, gauge, histogram } = metricFactory(registry);
  return {
    registry,
    pool: poolMetrics({ gauge, histogram }),
    redisSeconds: redisSeconds({ histogram }),
    assignments: counter(
      'store_data_assignments_total',
      'How often this process was assigned partitions',
      OF_TOPIC,
    ),
    applied: counter('store_data_events_applied_total', 'Events that took effect', OF_ENTITY),
    outdated: counter(
      'store_data_events_outdated_total',
      'Outdated events, which changed nothing',
      OF_GENERATION,
    ),
    newerSchema: counter(
      'store_data_events_newer_schema_total',
      'Effective events of a schema that is newer than this release',
      OF_ENTITY,
    ),
    deadLetters: counter(
      'store_data_dead_letters_total',
      'Messages that became dead letters',
      OF_DEAD,
    ),
    lag: gauge(
      'store_data_partition_lag',
      'Messages not applied yet, up to the last stable offset; the last known number while Kafka is away',
      OF_PARTITION,
    ),
    openTransaction: {
      messages: gauge(
        'store_data_partition_open_transaction_messages',
        'Messages behind the last stable offset: an open transaction hides them',
        OF_PARTITION,
      ),
      seconds: gauge(
        'store_data_partition_open_transaction_seconds',
        'How long the last stable offset has not moved although messages lie behind it',
        OF_PARTITION,
      ),
    },
    kafkaConnected: gauge(
      'store_data_kafka_connected',
      '1 while Kafka answers the consumer of this process',
      OF_TOPIC,
    ),
    fetched: gauge(
      'store_data_last_fetch_timestamp_seconds',
      'When Kafka last answered a consumer of this process, with messages or without, in seconds since 1970',
      OF_TOPIC,
    ),
    progress: gauge(
      'store_data_last_progress_timestamp_seconds',
      'When a partition last applied something or had nothing to apply, in seconds since 1970',
      OF_PARTITION,
    ),
    freshness: histogram(
      'store_data_freshness_seconds',
      'Seconds from the time of an event, or from when Kafka took it if that is much later, to its commit, in generations that answer',
      [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600],
      OF_GENERATION,
    ),
    transactionSeconds: histogram(
      'store_data_transaction_seconds',
      'Seconds that the transaction of a slice takes',
      [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
      OF_TOPIC,
    ),
    transactionFailures: counter(
      'store_data_transaction_failures_total',
      'Transactions that failed and are retried',
      [...OF_TOPIC, 'kind'],
    ),
    stopped: gauge(
      'store_data_partition_stopped',
      '1 while a partition is stopped: it would lose events',
      OF_PARTITION,
    ),
    unreadable: gauge(
      'store_data_partition_unreadable',
      '1 while a partition is stopped before a damaged record batch',
      [...OF_PARTITION, 'reason'],
    ),
    failing: gauge(
      'store_data_partition_failing',
      'Failures of the next slice in a row although MongoDB answered',
      OF_PARTITION,
    ),
    environmentStopped: gauge(
      'store_data_environment_stopped',
      '1 while a configuration error stops an environment or a generation of it',
      ['environment'],
    ),
    generations: gauge(
      'store_data_generation',
      '1 for each generation that this process projects: live, building, kept',
      [...GENERATION_LABELS, 'state'],
    ),
    accessPending: gauge(
      'store_data_access_pending',
      'Changes of access that Redis or the log does not have yet',
    ),
    accessAhead: gauge(
      'store_data_access_ahead',
      'Keys and stores that are newer in Redis than in MongoDB, as after a restored backup',
    ),
    /** Dead letters that wait. Every process shows the same of one topic and database. */
    letters: {
      open: gauge(
        'store_data_dead_letters_open',
        'Dead letters that wait for a decision',
        OF_LETTERS,
      ),
      bytes: gauge(
        'store_data_dead_letters_bytes',
        'Bytes of messages that dead letters keep',
        OF_LETTERS,
      ),
      used: gauge(
        'store_data_dead_letters_used_ratio',
        'Used share of the space for dead letters, from 0 to 1',
        OF_LETTERS,
      ),
      oldestSeconds: gauge(
        'store_data_dead_letters_oldest_seconds',
        'Age of the oldest dead letter in seconds',
        OF_LETTERS,
      ),
      expired: counter(
        'store_data_dead_letters_expired_total',
        'Dead letters that expired without a decision',
        ['environment', 'topic', 'reason'],
      ),
    },
    /** Erasures in the background. Every process shows the same of one generation. */
    erasures: {
      erased: counter(
        'store_data_documents_erased_total',
        'Orders and reviews from which the data of a deleted customer was removed in the background',
        OF_GENERATION,
      ),
      open: gauge(
        'store_data_erasures',
        'Deleted customers whose data is still stored',
        OF_GENERATION,
      ),
      oldestSeconds: gauge(
        'store_data_erasures_oldest_seconds',
        'Age of the oldest of these erasures in seconds',
        OF_GENERATION,
      ),
    },
  };
}

/** For metrics of age: 0 if there is nothing. */
export function secondsSince(moment: Date | null): number {
  return moment === null ? 0 : Math.max(0, Date.now() - moment.getTime()) / 1_000;
}
