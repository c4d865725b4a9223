/**
 * Applies an environment's log of access. It belongs to no generation: records and checkpoints lie
 * in the control database.
 */
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { judgeEnds } from '#shared/access/erased-stores.ts';
import { withCluster } from '#shared/kafka/cluster.ts';
import { createLogReader } from '#shared/kafka/log-reader.ts';
import { applyAccess } from '#shared/projection/access/apply.ts';
import { applyWithCheckpoint } from '#shared/projection/slice/checkpoint.ts';
import { type RunningConsumer, startConsumer } from '../log/consumer.ts';
import type { Parts } from '../parts.ts';
import type { AccessPublisher } from './publisher.ts';

export function consumeAccess(
  parts: Parts,
  publisher: AccessPublisher,
  environment: string,
): Promise<RunningConsumer> {
  const { config, control, kafka, metrics, scheduler } = parts;
  const labels = { environment, generation: 'control' };
  const changes = changesTopic(environment);
  const judge = (ends: Parameters<typeof judgeEnds>[1]) =>
    withCluster(kafka, async (cluster) =>
      judgeEnds(await createLogReader(cluster, control, changes), ends),
    );
  return startConsumer(parts, {
    ...labels,
    logger: parts.logger,
    db: control,
    topic: accessTopic(environment),
    groupId: `${config.namePrefix}.${environment}.access`,
    recoveryHint:
      'let KAFKA_BROKERS name the cluster that it was made from, or have this log applied from its beginning with ' +
      `"store-data access replay --environment ${environment}"`,
    permits: scheduler.permits({ state: 'live', share: null }),
    checkDatabase: async () => undefined,
    prepare: () => undefined,
    // A revocation that MongoDB refuses must not become a dead letter.
    givesUp: false,
    apply: async (claim, slice, limits) => {
      const { changed, applied, outdated, deadLetters } = await applyWithCheckpoint(
        claim,
        slice,
        (checkpoint) =>
          applyAccess(control, environment, claim.session, slice, {
            judgeEnds: judge,
            limits,
            checkpoint,
          }),
      );
      publisher.publish(changed);
      for (const entity of applied) metrics.applied.inc({ ...labels, entity });
      if (outdated > 0) metrics.outdated.inc(labels, outdated);
      return deadLetters;
    },
  });
}
