/** Applies one topic into one database: its consumer, and its dead letters. */
import type { Db } from 'mongodb';
import { allEnded } from '#shared/waiting.ts';
import { giveUpSlice, type LetterLimits } from '#shared/projection/dead-letters/write.ts';
import type { Checkpoint, Claim } from '#shared/projection/slice/checkpoint.ts';
import type { Slice } from '#shared/projection/slice/slice.ts';
import { CHECKPOINTS, type DeadLetter } from '#shared/read-models/collections.ts';
import { startLetters } from './dead-letters.ts';
import { type ConsumerOptions, type RunningConsumer, startConsumer } from './log/consumer.ts';
import type { Parts } from './parts.ts';

interface Target extends Pick<
  ConsumerOptions,
  'topic' | 'groupId' | 'generation' | 'recoveryHint' | 'permits' | 'checkDatabase' | 'prepare' | 'logger'
> {
  environment: string;
  /** Where it is written, with the checkpoints and the letters. */
  db: Db;
  /** Applies a slice in one transaction. @returns what became dead letters. */
  apply: (claim: Claim, slice: Slice, limits: LetterLimits) => Promise<readonly DeadLetter[]>;
}

export async function applyTopic(parts: Parts, target: Target): Promise<RunningConsumer> {
  const { config, metrics, databases, kafkas, control, tracing } = parts;
  const { environment, generation, topic, db, apply } = target;
  const letters = startLetters(parts, target);
  const checkpoints = db.collection<Checkpoint>(CHECKPOINTS);
  const count = (dead: readonly DeadLetter[]) => {
    for (const { reason } of dead) metrics.deadLetters.inc({ environment, generation, topic, reason });
  };
  try {
    const consumer = await startConsumer({
      ...target,
      kafka: kafkas.of(topic),
      client: db === control ? databases.common : db.client,
      config,
      checkpoints,
      control,
      metrics,
      tracing,
      commit: async (claim, slice) => count(await apply(claim, slice, letters.limits)),
      giveUp: async (claim, slice) => count(await giveUpSlice(checkpoints, claim, slice, db)),
    });
    return { ...consumer, stop: async () => void (await allEnded([consumer.stop(), letters.stop()])) };
  } catch (error) {
    await letters.stop();
    throw error;
  }
}
