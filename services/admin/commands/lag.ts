/** `lag`: how far the projector is behind the logs, by its checkpoints and Kafka's offsets. */
import type { Db } from 'mongodb';
import { notFound } from '#shared/errors.ts';
import { findTopics } from '#shared/kafka/client.ts';
import { lagOf } from '#shared/kafka/positions.ts';
import { pause } from '#shared/waiting.ts';
import { type Checkpoint, readTopicCheckpoints } from '#shared/projection/slice/checkpoint.ts';
import { type Environment, openServers } from '../servers.ts';
import { command, environmentOption } from '../options.ts';
import { formatAge, stopSignal, isJson, print, printResult, tableOf } from '../output.ts';

const WATCH_MS = 1_000;
const CLEAR_SCREEN = '\u001B[2J\u001B[H';

export const lagCommand = () =>
  command('lag', 'Show how many messages are not applied yet')
    .addOption(environmentOption('only that environment'))
    .option('-w, --watch', 'measure every second until Ctrl-C')
    .action(async (flags) => {
      await using servers = await openServers();
      const environments = servers.environmentsOf(flags);
      const topics = environments.flatMap((one) => one.topics);
      for (const [kafka, ofKafka] of servers.kafkas.group(topics)) {
        const existing = await findTopics(await kafka.admin(), ofKafka);
        for (const topic of ofKafka) if (!existing.has(topic)) throw notFound(`topic ${topic} does not exist`);
      }
      if (!flags.watch) return show(await measureLag(environments));
      const stopped = stopSignal();
      do {
        const lags = await measureLag(environments);
        if (isJson()) print(JSON.stringify(toJson(lags)));
        else {
          if (process.stdout.isTTY) process.stdout.write(CLEAR_SCREEN);
          show(lags);
        }
      } while (await pause(WATCH_MS, stopped));
    });

type PartitionLag = Awaited<ReturnType<typeof measureLag>>[number];

/**
 * Of each partition the next offset to apply (`null` before a projector began) and the log's end; the number of messages between them
 * (`null` where the checkpoint belongs to another log); the number of messages that open transactions hide behind the end; and when Kafka
 * took the last applied message. Without a leader nothing is known of the log: `end`, `lag` and `open` are `null`.
 */
export async function measureLag(environments: readonly Environment[]) {
  const measure = async ({ servers }: Environment, topic: string, db: Db | null) => {
    // Positions first: the lag is never below zero.
    const checkpoints = db === null ? new Map<number, Checkpoint>() : await readTopicCheckpoints(db, topic);
    const { leaders, bounds } = await servers.knownBounds(topic);
    return [...leaders.keys()].map((partition) => {
      const { position = null, last_message: last = null } = checkpoints.get(partition) ?? {};
      const log = bounds.get(partition);
      const known = { topic, partition, position, last_applied_at: last === null ? null : new Date(last.timestamp) };
      if (log === undefined) return { ...known, end: null, lag: null, open: null };
      return { ...known, end: log.end, lag: lagOf(position, log), open: log.highWatermark - log.end };
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

function toJson(partitions: readonly PartitionLag[]) {
  return { lag: partitions.reduce((sum, { lag }) => sum + (lag ?? 0), 0), partitions };
}

function show(lags: readonly PartitionLag[]): void {
  const json = toJson(lags);
  const rows = lags.map((one) => {
    const { lag, end, last_applied_at: last } = one;
    return { ...one, lag: lag ?? (end === null ? 'no leader' : 'other log'), last: last && formatAge(last) };
  });
  const total = { topic: 'total', partition: '', position: '', end: '', lag: json.lag, open: '', last: '' };
  const columns = ['topic', 'partition', 'position', 'end', 'lag', 'open', 'last'] as const;
  const table = tableOf<(typeof rows)[number] | typeof total>([...rows, total], columns);
  printResult(json, table);
}
