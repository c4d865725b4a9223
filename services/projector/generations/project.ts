/** Projects one generation: the consumer of its environment's changes that writes into its database. */
import type { Kafka } from 'kafkajs';
import type { ConsumerOptions, RunningConsumer } from '../consumer/consumer.ts';
import { startConsumer } from '../consumer/consumer.ts';
import { allEnded } from '#shared/all-ended.ts';
import { findErasedIn } from '#shared/access/erased-stores.ts';
import { brokersSetting, type Config } from '#shared/config.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { StoreDataError } from '#shared/errors.ts';
import type { PerKafka } from '#shared/kafka/per-kafka.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import { generationGroup, type GenerationMarker } from '#shared/read-models/generation.ts';
import { applyChanges } from '#shared/projection/changes/apply.ts';
import { Epochs } from '#shared/projection/changes/epochs.ts';
import { ChangeReader } from '#shared/projection/changes/change-reader.ts';
import type { TreeCache } from '#shared/projection/ranking/tree-cache.ts';
import { applyWithCheckpoint, type Checkpoint } from '#shared/projection/slice/checkpoint.ts';
import { DropDecisions } from '#shared/projection/dead-letters/dropped.ts';
import type { LetterExpiry } from '../dead-letters/expiry-loop.ts';
import { countDeadLetters } from '../metrics.ts';
import { Rewriter, type RewriterOptions } from '../rewriting/rewriter.ts';
import { type Followed, generationLabel } from './follower.ts';
import type { Pace } from './pace.ts';

/** The share of time that filling takes where nobody said another. */
const DEFAULT_SHARE = 25;

export interface ProjectOptions {
  config: Config;
  kafkas: PerKafka<Kafka>;
  base: Pick<
    ConsumerOptions,
    'sessionTimeoutMs' | 'concurrentPartitions' | 'limits' | 'control' | 'logger' | 'metrics' | 'tracing'
  >;
  pace: Pace;
  letters: LetterExpiry;
  /** Of all generations. */
  trees: TreeCache;
  rewriting: Pick<RewriterOptions, 'share' | 'metrics'>;
  /** Called when the record of a store has changed in a live generation. */
  storeChanged: () => void;
}

/** Starts to project a generation. */
export async function projectGeneration(
  { config, kafkas, base, pace, letters, trees, rewriting, storeChanged }: ProjectOptions,
  generation: Followed,
): Promise<RunningConsumer> {
  const { environment, db, marker } = generation;
  const { metrics, logger } = base;
  const label = generationLabel(marker);
  const topic = changesTopic(environment);
  const limits = letters.limits(db, topic);
  const dropped = new DropDecisions(base.control, topic);
  const findErased = findErasedIn(base.control, environment);
  const epochs = new Epochs();
  const reader = new ChangeReader();
  const checkpoints = db.collection<Checkpoint>(CHECKPOINTS);
  const consumer = await startConsumer({
    ...base,
    kafka: kafkas.of(topic),
    client: db.client,
    topic,
    groupId: generationGroup(config.namePrefix, environment, marker.number),
    checkpoints,
    checkDatabase: () => checkMarker(generation),
    generation: label,
    wayOut: `let ${brokersSetting(config, environment)} name the cluster that it was made from, or make the read models anew with "store-data rebuild --environment ${environment}"`,
    turns: pace.turns({
      isBuilding: () => generation.state === 'building',
      share: () => generation.share ?? DEFAULT_SHARE,
    }),
    logger: logger.child({ generation: label }),
    prepare: (messages) => reader.readAhead(messages),
    commit: async (claim, whole, hopeless) => {
      const slice = await dropped.leaveOut(whole);
      const { plan, deadLetters, given } = await applyWithCheckpoint(
        checkpoints,
        claim,
        whole,
        (checkpoint) =>
          applyChanges(db, claim.session, slice, hopeless, {
            limits,
            checkpoint,
            findErased,
            epochs,
            reader,
            trees,
          }),
      );
      epochs.committed(given);
      countDeadLetters(metrics, environment, label, deadLetters);
      if (plan === null) return;
      const now = Date.now();
      const labels = { environment, generation: label };
      for (const { entity, time, newerVersion } of plan.applied) {
        metrics.applied.inc({ ...labels, entity });
        if (newerVersion !== undefined) metrics.newerSchema.inc({ ...labels, entity });
        // What a new generation is filled with happened long ago.
        if (generation.state === 'live') {
          metrics.freshness.observe(labels, Math.max(0, now - time) / 1_000);
        }
      }
      if (plan.outdated > 0) metrics.outdated.inc(labels, plan.outdated);
      if (generation.state === 'live' && plan.applied.some(({ entity }) => entity === 'store'))
        storeChanged();
    },
  });
  const rewriter = new Rewriter({
    ...rewriting,
    db,
    labels: { environment, generation: label },
    pace,
    logger,
    erasing: {
      epochs,
      partitions: () => consumer.partitions(),
      inTransaction: (partition, work) => consumer.between(partition, work),
    },
  });
  const stop = async () => {
    await allEnded([rewriter.stop(), consumer.stop()]);
  };
  return { ...consumer, stop };
}

/** A claim makes checkpoints that are missing; it must not make a dropped database anew by that. */
async function checkMarker({ db, marker }: Followed): Promise<void> {
  const found = await db
    .collection<GenerationMarker>('generation')
    .findOne({ _id: 'marker' }, { maxTimeMS: 5_000 });
  if (found?.id !== marker.id) {
    throw new StoreDataError('generation_unsuitable', `database ${db.databaseName} was dropped or replaced`);
  }
}
