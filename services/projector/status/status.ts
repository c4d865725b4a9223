/** How everything is, as the page for operators shows it: no personal data, no id of a key or a session. */
import type { Gauge } from 'prom-client';
import type { RedisMasters } from '#shared/redis-masters.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { DEAD_LETTERS, type DeadLetter } from '#shared/read-models/collections.ts';
import type { Databases } from '#shared/read-models/databases.ts';
import { findGenerations, type KnownGeneration } from '#shared/read-models/generation.ts';
import { RELEASE } from '#shared/release.ts';
import { withTimeLimit } from '#shared/time-limit.ts';
import type { ProjectorMetrics } from '../metrics.ts';
import { readStoreUse, type StoreUse } from './store-use.ts';

export interface Status {
  at: Date;
  release: typeof RELEASE;
  /** Events that took effect since this process started. */
  applied: number;
  /** Of the environments that answer; `null` where none does. */
  generations: GenerationStatus[] | null;
  /** Environments whose MongoDB does not answer. */
  away: string[];
  /** Those that this process has. */
  partitions: PartitionStatus[];
  freshness: Freshness[];
  dead_letters: DeadLetterStatus[] | null;
  /** `null` where MongoDB or Redis does not answer. */
  use: StoreUse | null;
}

interface GenerationStatus {
  environment: string;
  generation: string;
  state: KnownGeneration['state'];
  share: number | null;
  projection_version: number | null;
}

interface PartitionStatus {
  topic: string;
  partition: number;
  generation: string;
  lag: number;
  /** For how long nothing was applied though there was something to apply. */
  still_for_seconds: number;
  stopped: boolean;
  failing: number;
}

interface Freshness {
  environment: string;
  generation: string;
  /** How many events took at most so many seconds, since this process started; the last bound is infinite: `null`. */
  buckets: { seconds: number | null; events: number }[];
}

interface DeadLetterStatus {
  environment: string;
  generation: string;
  reason: string;
  messages: number;
}

export interface StatusSources {
  databases: Databases;
  prefix: string;
  environments: readonly string[];
  redis: RedisMasters;
  metrics: ProjectorMetrics;
}

/** What is counted letter by letter of one topic; beyond it `store-data dead-letters list` tells. */
const MOST_LETTERS = 10_000;
const LIMIT_MS = 2_000;

/** Looks at everything. What does not answer is `null`. */
export async function readStatus(sources: StatusSources): Promise<Status> {
  const { databases, prefix, environments, redis, metrics } = sources;
  const { control } = databases;
  const [known, applied, partitions, freshness, use] = await Promise.all([
    Promise.all(environments.map((environment) => orNull(findGenerations(databases, environment)))),
    metrics.applied.get(),
    readPartitions(metrics),
    readFreshness(metrics),
    orNull(readStoreUse({ redis, control, prefix, environments })),
  ]);
  const away = environments.filter((_, index) => known[index] === null);
  const isAway = away.length === environments.length;
  const generations = environments.flatMap((environment, index) =>
    (known[index] ?? []).map((generation) => ({ environment, ...generation })),
  );
  return {
    at: new Date(),
    release: RELEASE,
    applied: applied.values.reduce((sum, { value }) => sum + value, 0),
    generations: isAway
      ? null
      : generations.map(({ environment, number, state, share, marker }) => ({
          environment,
          generation: `g${number}`,
          state,
          share,
          projection_version: marker?.projection_version ?? null,
        })),
    away,
    partitions,
    freshness,
    dead_letters: isAway ? null : await orNull(countLetters(sources, generations)),
    use,
  };
}

async function readPartitions(metrics: ProjectorMetrics): Promise<PartitionStatus[]> {
  type Label = 'topic' | 'partition' | 'generation';
  const valuesOf = async (gauge: Gauge<Label>) => {
    const { values } = await gauge.get();
    return new Map(values.map(({ labels, value }) => [keyOf(labels), value]));
  };
  const [{ values }, progress, stopped, failing] = await Promise.all([
    metrics.lag.get(),
    valuesOf(metrics.progress),
    valuesOf(metrics.stopped),
    valuesOf(metrics.failing),
  ]);
  const now = Date.now() / 1_000;
  return values.map(({ labels, value: lag }) => ({
    topic: String(labels.topic),
    partition: Number(labels.partition),
    generation: String(labels.generation),
    lag,
    still_for_seconds: lag === 0 ? 0 : Math.max(0, Math.round(now - (progress.get(keyOf(labels)) ?? now))),
    stopped: (stopped.get(keyOf(labels)) ?? 0) > 0,
    failing: failing.get(keyOf(labels)) ?? 0,
  }));
}

function keyOf({ topic, partition, generation }: Partial<Record<string, string | number>>): string {
  return `${topic}/${partition}/${generation}`;
}

async function readFreshness(metrics: ProjectorMetrics): Promise<Freshness[]> {
  const found = new Map<string, Freshness>();
  for (const { metricName, labels, value } of (await metrics.freshness.get()).values) {
    if (metricName?.endsWith('_bucket') !== true) continue;
    const [environment, generation] = [String(labels.environment), String(labels.generation)];
    const entry = found.get(`${environment}/${generation}`) ?? { environment, generation, buckets: [] };
    found.set(`${environment}/${generation}`, entry);
    const { le: bound } = labels as { le?: string | number };
    entry.buckets.push({ seconds: bound === '+Inf' ? null : Number(bound), events: value });
  }
  return [...found.values()];
}

async function countLetters(
  { databases: { control }, environments }: StatusSources,
  generations: readonly (KnownGeneration & { environment: string })[],
): Promise<DeadLetterStatus[]> {
  const boxes = [
    ...environments.map((environment) => ({
      environment,
      generation: 'control',
      db: control,
      topic: accessTopic(environment),
    })),
    ...generations.map(({ environment, number, db }) => ({
      environment,
      generation: `g${number}`,
      db,
      topic: changesTopic(environment),
    })),
  ];
  const counted = await Promise.all(
    boxes.map(async ({ environment, generation, db, topic }) => {
      const reasons = await db
        .collection<DeadLetter>(DEAD_LETTERS)
        .aggregate<{ _id: string; messages: number }>(
          [
            { $match: { topic } },
            { $limit: MOST_LETTERS },
            { $group: { _id: '$reason', messages: { $sum: { $ifNull: ['$gathered.count', 1] } } } },
            { $sort: { _id: 1 } },
          ],
          { maxTimeMS: LIMIT_MS },
        )
        .toArray();
      return reasons.map(({ _id: reason, messages }) => ({ environment, generation, reason, messages }));
    }),
  );
  return counted.flat();
}

async function orNull<T>(found: Promise<T>): Promise<T | null> {
  return withTimeLimit(
    LIMIT_MS,
    () => new Error('it takes too long'),
    () => found,
  ).catch(() => null);
}
