/** `lag`: how far the projector is behind the logs, by its checkpoints and Kafka's offsets. */
import type { Db } from 'mongodb';
import { isUnavailable, notFound } from '#shared/errors.ts';
import { findTopics } from '#shared/kafka/client.ts';
import { lagOf, sumOfLags } from '#shared/kafka/positions.ts';
import { type Checkpoint, readTopicCheckpoints } from '#shared/projection/slice/checkpoint.ts';
import { messageOf } from '../audit.ts';
import { type Environment, openServers } from '../servers.ts';
import { command, environmentOption } from '../options.ts';
import { formatAge, markFailed, printResult, remark, tableOf } from '../output.ts';

export const lagCommand = () =>
  command('lag', 'Show how many messages are not applied yet')
    .addOption(environmentOption('only that environment'))
    .action(async (flags) => {
      await using servers = await openServers();
      const environments = servers.environmentsOf(flags);
      const topics = environments.flatMap((one) => one.topics);
      const existing = await findTopics(await servers.kafka.admin(), topics);
      for (const topic of topics)
        if (!existing.has(topic)) throw notFound(`topic ${topic} does not exist`);
      const lags = await measureLag(environments);
      show(lags);
      remarkUnknown(lags);
    });

type PartitionLag = Awaited<ReturnType<typeof measureLag>>[number];

/**
 * Of each partition the next offset to apply (`null` before a projector began) and the log's end;
 * the number of messages between them (`null` if the checkpoint belongs to another log); the
 * number of messages that open transactions hide behind the end; and when Kafka took the last
 * applied message. Without a leader nothing is known of the log: `end`, `lag` and `open` are
 * `null`.
 */
async function measureLag(environments: readonly Environment[]) {
  const measure = async ({ servers }: Environment, topic: string, db: Db | null) => {
    // Positions first: the lag is never below zero.
    const checkpoints =
      db === null ? new Map<number, Checkpoint>() : await readTopicCheckpoints(db, topic);
    const { leaders, bounds } = await servers.knownBounds(topic);
    return [...leaders.keys()].map((partition) => {
      const { position = null, last_message: last = null } = checkpoints.get(partition) ?? {};
      const log = bounds.get(partition) ?? null;
      return {
        topic,
        partition,
        position,
        last_applied_at: last && new Date(last.timestamp),
        end: log && log.end,
        lag: log && lagOf(position, log),
        open: log && log.highWatermark - log.end,
      };
    });
  };
  const lags = environments.map(async (environment) => {
    const { topic, accessTopic, servers } = environment;
    const live = await environment.liveGeneration();
    const changes = await measure(environment, topic, live?.db ?? null);
    return [...changes, ...(await measure(environment, accessTopic, await servers.control()))];
  });
  return (await Promise.all(lags)).flat();
}

/** For commands that show more than a lag: `null` and a remark while Kafka is away. */
export async function unlessKafkaIsAway<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    remark(`note: the lag is unknown: ${messageOf(error)}`);
    return null;
  }
}

function show(lags: readonly PartitionLag[]): void {
  const json = { lag: sumOfLags(lags.map(({ lag }) => lag)), partitions: lags };
  const rows = lags.map((one) => {
    const { lag, end, last_applied_at: last } = one;
    return {
      ...one,
      lag: lag ?? (end === null ? 'no leader' : 'other log'),
      last: last && formatAge(last),
    };
  });
  const total = {
    topic: 'total',
    partition: '',
    position: '',
    end: '',
    lag: json.lag ?? 'unknown',
    open: '',
    last: '',
  };
  const columns = ['topic', 'partition', 'position', 'end', 'lag', 'open', 'last'] as const;
  const table = tableOf<(typeof rows)[number] | typeof total>([...rows, total], columns);
  printResult(json, table);
}

/** A script that waits until the lag is 0 must not go on. */
function remarkUnknown(lags: readonly PartitionLag[]): void {
  const unknown = lags.filter(({ lag }) => lag === null);
  const named = (some: readonly PartitionLag[]) =>
    some.map(({ topic, partition }) => `${topic}/${partition}`).join(', ');
  const leaderless = unknown.filter(({ end }) => end === null);
  if (leaderless.length > 0) {
    remark(
      `store-data: the lag is unknown: ${named(leaderless)} has no leader, or its leader does not answer ` +
        '(docs/operations.md, "Silence")',
    );
  }
  const others = unknown.filter(({ end }) => end !== null);
  if (others.length > 0) {
    remark(
      `store-data: the lag is unknown: the log of ${named(others)} ends before the position that is applied, so it is ` +
        'another log, and the projector has stopped there (docs/operations.md, "A partition that stopped")',
    );
  }
  if (unknown.length > 0) markFailed();
}
