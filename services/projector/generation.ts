/**
 * Projects one generation: consumes its environment's changes into its database, erases customers,
 * adopts the status of stores.
 */
import { controlCollections } from '#shared/access/access-keys.ts';
import { findErasedIn } from '#shared/access/erased-stores.ts';
import { StoreDataError } from '#shared/errors.ts';
import { changesTopic } from '#shared/events/topics.ts';
import type { LogMessage } from '#shared/kafka/message.ts';
import { startPeriodicTask } from '#shared/periodic-task.ts';
import { adoptStoreRecords } from '#shared/projection/access/apply.ts';
import { leaveOutDropped } from '#shared/projection/dead-letters/decisions.ts';
import { applyChanges } from '#shared/projection/pipeline/apply.ts';
import { ChangeReader } from '#shared/projection/pipeline/decode.ts';
import type { Plan } from '#shared/projection/pipeline/plan.ts';
import { applyWithCheckpoint } from '#shared/projection/slice/checkpoint.ts';
import { Epochs } from '#shared/projection/slice/epochs.ts';
import { generationGroup, generationLabel, hasMarker } from '#shared/read-models/generation.ts';
import type { ActiveGeneration, Applying } from './environment.ts';
import { startErasures } from './erasures.ts';
import { startConsumer } from './log/consumer.ts';
import type { ProjectorMetrics } from './metrics.ts';
import type { Parts } from './parts.ts';

/**
 * How often the status of changed store records is adopted; a slice of this process with such a
 * record does it at once.
 */
const ADOPT_MS = 1_000;

/** @param publish called when the control database has changes that Redis lacks. */
export async function projectGeneration(
  parts: Parts,
  publish: () => void,
  generation: ActiveGeneration,
): Promise<Applying> {
  const { config, control, metrics, scheduler, trees } = parts;
  const { environment, db, marker } = generation;
  const label = generationLabel(marker);
  const labels = { environment, generation: label };
  const logger = parts.logger.child({ generation: label });
  const topic = changesTopic(environment);
  const { stores } = controlCollections(control);
  const findErased = findErasedIn(control, environment);
  const epochs = new Epochs();
  const reader = new ChangeReader();
  await using starting = new AsyncDisposableStack();
  const adopting = startPeriodicTask({
    run: async () => {
      if (generation.state === 'live') await adoptStoreRecords(environment, db, stores, publish);
    },
    everyMs: ADOPT_MS,
    failed: (error) =>
      logger.warn({ environment, error }, 'the status of stores cannot be adopted yet'),
  });
  starting.defer(adopting.stop);
  const consumer = await startConsumer(parts, {
    environment,
    db,
    topic,
    logger,
    groupId: generationGroup(config.namePrefix, environment, marker.number),
    checkDatabase: () => checkMarker(generation),
    generation: label,
    recoveryHint:
      `let KAFKA_BROKERS name the cluster that it was made from, or make the read models anew ` +
      `with "store-data rebuild --environment ${environment}"`,
    permits: scheduler.permits(generation),
    prepare: (messages) => void reader.readAhead(messages),
    givesUp: true,
    apply: async (claim, whole, limits) => {
      const slice = await leaveOutDropped(control, whole);
      const { plan, deadLetters, given } = await applyWithCheckpoint(claim, whole, (checkpoint) =>
        applyChanges(db, claim.session, slice, {
          limits,
          checkpoint,
          findErased,
          epochs,
          reader,
          trees,
        }),
      );
      epochs.committed(given);
      count(metrics, labels, plan);
      if (generation.state === 'live') {
        observeFreshness(metrics, labels, plan, slice.messages, marker.created_at);
        if (plan.applied.some(({ entity }) => entity === 'store')) adopting.wake();
      }
      return deadLetters;
    },
  });
  starting.defer(consumer.stop);
  starting.defer(startErasures(parts, { db, labels, epochs, assignment: consumer.assignment }));
  const begun = starting.move();
  return { ...consumer, stop: () => begun.disposeAsync() };
}

function count(
  metrics: ProjectorMetrics,
  labels: { environment: string; generation: string },
  { applied, outdated }: Plan,
): void {
  for (const [entity, ofEntity] of Map.groupBy(applied, (one) => one.entity)) {
    metrics.applied.inc({ ...labels, entity }, ofEntity.length);
    const newer = ofEntity.filter(({ newerVersion }) => newerVersion !== undefined).length;
    if (newer > 0) metrics.newerSchema.inc({ ...labels, entity }, newer);
  }
  if (outdated > 0) metrics.outdated.inc(labels, outdated);
}

/** An event that Kafka took so long after it happened was published again. */
const PUBLISHED_AGAIN_MS = 600_000;

/** Observes the ages of a live generation's events. */
function observeFreshness(
  { freshness }: ProjectorMetrics,
  labels: { environment: string; generation: string },
  { applied }: Plan,
  messages: readonly LogMessage[],
  createdAt: Date,
): void {
  const now = Date.now();
  for (const { time, at } of applied) {
    const begin = beginOfAge(time, Number(messages[at]?.timestamp), createdAt.getTime());
    if (begin !== null) freshness.observe(labels, Math.max(0, now - begin) / 1_000);
  }
}

/**
 * From when the age of an event counts: from its time, or from when Kafka took it, if that is much
 * later. What Kafka had before the generation was made fills it: that says nothing about freshness
 * (`null`).
 */
export function beginOfAge(time: number, takenAt: number, createdAt: number): number | null {
  if (takenAt < createdAt) return null;
  return takenAt - time > PUBLISHED_AGAIN_MS ? takenAt : time;
}

/** A claim creates a missing checkpoint. It must not create a dropped database again. */
async function checkMarker(generation: ActiveGeneration): Promise<void> {
  if (await hasMarker(generation)) return;
  const words = `database ${generation.db.databaseName} was dropped or replaced`;
  throw new StoreDataError('generation_unsuitable', words);
}
