/** Projects one generation: the consumer of its environment's changes that writes into its database, and what is done beside it. */
import type { Kafka } from '#shared/kafka/client.ts';
import { type ConsumerOptions, startConsumer } from './log/consumer.ts';
import { controlCollections } from '#shared/access/access-keys.ts';
import { findErasedIn } from '#shared/access/erased-stores.ts';
import { brokersSetting, type Config } from '#shared/config.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { StoreDataError } from '#shared/errors.ts';
import type { PerKafka } from '#shared/kafka/client.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import { generationGroup, generationLabel, type GenerationMarker } from '#shared/read-models/generation.ts';
import { adoptStoreRecords } from '#shared/projection/access/apply.ts';
import { applyChanges } from '#shared/projection/pipeline/apply.ts';
import { Epochs } from '#shared/projection/slice/epochs.ts';
import { ChangeReader } from '#shared/projection/pipeline/decode.ts';
import type { TreeCache } from '#shared/projection/rank-tree/loaded-tree.ts';
import { applyWithCheckpoint, type Checkpoint } from '#shared/projection/slice/checkpoint.ts';
import { DropDecisions } from '#shared/projection/dead-letters/decisions.ts';
import { giveUpSlice } from '#shared/projection/dead-letters/write.ts';
import { Letters, type LettersOptions } from './dead-letters.ts';
import { countDeadLetters } from './metrics.ts';
import { Erasures, type ErasuresOptions } from './erasures.ts';
import type { ActiveGeneration, Applying } from './environment.ts';
import type { Scheduler } from './log/scheduler.ts';

/** The share of time that filling takes where nobody said another. */
const DEFAULT_SHARE = 25;
/** How often the status of stores whose records changed is taken over, where no slice of this process says so. */
const ADOPT_MS = 1_000;

export interface ProjectOptions {
  config: Config;
  kafkas: PerKafka<Kafka>;
  base: Pick<
    ConsumerOptions,
    'sessionTimeoutMs' | 'concurrentPartitions' | 'limits' | 'control' | 'logger' | 'metrics' | 'tracing'
  >;
  scheduler: Scheduler;
  letters: Pick<LettersOptions, 'bytes' | 'days' | 'metrics'>;
  /** Of all generations. */
  trees: TreeCache;
  erasures: Pick<ErasuresOptions, 'share' | 'metrics'>;
  /** Called when the control database knows something that Redis does not know yet. */
  publish: () => void;
}

/** Starts to project a generation. */
export async function projectGeneration(
  { config, kafkas, base, scheduler, trees, publish, ...options }: ProjectOptions,
  generation: ActiveGeneration,
): Promise<Applying> {
  const { environment, db, marker } = generation;
  const { metrics, logger } = base;
  const label = generationLabel(marker);
  const labels = { environment, generation: label };
  const topic = changesTopic(environment);
  const { stores } = controlCollections(base.control);
  await using starting = new AsyncDisposableStack();
  const letters = new Letters({ ...options.letters, db, environment, topic, logger });
  starting.defer(() => letters.stop());
  const adopting = new PeriodicTask({
    run: async () => {
      if (generation.state === 'live' && (await adoptStoreRecords(environment, db, stores)) > 0) publish();
    },
    everyMs: ADOPT_MS,
    failed: (error) => logger.warn({ ...labels, error }, 'the status of stores cannot be taken over yet'),
  });
  starting.defer(() => adopting.stop());
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
    recoveryHint: `let ${brokersSetting(config, environment)} name the cluster that it was made from, or make the read models anew with "store-data rebuild --environment ${environment}"`,
    permits: scheduler.permits({
      isBuilding: () => generation.state === 'building',
      share: () => generation.share ?? DEFAULT_SHARE,
    }),
    logger: logger.child({ generation: label }),
    prepare: (messages) => reader.readAhead(messages),
    commit: async (claim, whole) => {
      const slice = await dropped.leaveOut(whole);
      const { plan, deadLetters, given } = await applyWithCheckpoint(
        checkpoints,
        claim,
        whole,
        (checkpoint) =>
          applyChanges(db, claim.session, slice, {
            limits: letters.limits,
            checkpoint,
            findErased,
            epochs,
            reader,
            trees,
          }),
      );
      epochs.committed(given);
      countDeadLetters(metrics, environment, label, deadLetters);
      const now = Date.now();
      for (const [entity, ofEntity] of Map.groupBy(plan.applied, ({ entity }) => entity)) {
        metrics.applied.inc({ ...labels, entity }, ofEntity.length);
        const newer = ofEntity.filter(({ newerVersion }) => newerVersion !== undefined).length;
        if (newer > 0) metrics.newerSchema.inc({ ...labels, entity }, newer);
        // What a new generation is filled with happened long ago.
        if (generation.state !== 'live') continue;
        for (const { time } of ofEntity) metrics.freshness.observe(labels, Math.max(0, now - time) / 1_000);
      }
      if (plan.outdated > 0) metrics.outdated.inc(labels, plan.outdated);
      if (generation.state === 'live' && plan.applied.some(({ entity }) => entity === 'store'))
        adopting.wake();
    },
    giveUp: async (claim, slice) => {
      countDeadLetters(metrics, environment, label, await giveUpSlice(checkpoints, claim, slice, db));
    },
  });
  starting.defer(consumer.stop);
  const erasures = new Erasures({
    ...options.erasures,
    db,
    labels,
    scheduler,
    logger,
    epochs,
    partitions: () => consumer.partitions(),
    inTransaction: (partition, work) => consumer.runBetweenSlices(partition, work),
  });
  starting.defer(() => erasures.stop());
  const begun = starting.move();
  return { ...consumer, stop: () => begun.disposeAsync() };
}

/** A claim makes checkpoints that are missing; it must not make a dropped database anew by that. */
async function checkMarker({ db, marker }: ActiveGeneration): Promise<void> {
  const found = await db
    .collection<GenerationMarker>('generation')
    .findOne({ _id: 'marker' }, { maxTimeMS: 5_000 });
  if (found?.id !== marker.id) {
    throw new StoreDataError('generation_unsuitable', `database ${db.databaseName} was dropped or replaced`);
  }
}
