/** Measures projectors that share one topic and find a backlog. */
import { setTimeout as sleep } from 'node:timers/promises';
import { changesTopic } from '#shared/events/topics.ts';
import { CHECKPOINTS } from '#shared/read-models/collections.ts';
import { findLiveGeneration, generationGroup } from '#shared/read-models/generation.ts';
import { eventually, type Installation } from '#test/installation.ts';
import { caughtUp, readModels } from '#test/read-models.ts';
import type { Ground } from '../ground.ts';
import { cpuSeconds, peakMebibytes } from '../process-figures.ts';
import { serviceProgram } from '../programs.ts';
import type { BenchKey } from '../query/tokens.ts';
import { keysArrived } from './clients.ts';
import { orderEvents, type Range } from './orders.ts';
import type { ProjectorFigures } from './result.ts';
import { difference, lookAtServers, microseconds } from './server-figures.ts';

const LOOK_MS = 25;
/** They are given up when they apply nothing for so long. */
const STUCK_MS = 60_000;

/** @param warmUp orders that come before, so that code is compiled and every partition has its projector. */
export async function measureProjectors(
  ground: Ground,
  {
    instances,
    stores,
    keys,
    warmUp,
    orders,
  }: { instances: number; stores: number; keys: readonly BenchKey[]; warmUp: Range; orders: Range },
): Promise<ProjectorFigures> {
  const { installation, start } = ground;
  const program = await serviceProgram('projector');
  const projectors = await Promise.all(
    Array.from({ length: instances }, (_, index) =>
      start({ ...program, name: `projector-${instances}-${index + 1}` }),
    ),
  );
  const topic = changesTopic(installation.environment);
  await allAtWork(installation, instances);
  await installation.send(topic, orderEvents(warmUp, stores, [1]));
  await caughtUp(installation);
  await keysArrived(installation, keys);

  const events = orderEvents(orders, stores);
  const before = await positions(installation);
  // They find all of it at once, and do not share the processor with who publishes it.
  for (const { pid } of projectors) process.kill(pid, 'SIGSTOP');
  await installation.send(topic, events);
  const cpuOf = async () => sum(await Promise.all(projectors.map(({ pid }) => cpuSeconds(pid))));
  const cpuBefore = await cpuOf();
  const serversBefore = await lookAtServers(installation);
  for (const { pid } of projectors) process.kill(pid, 'SIGCONT');
  const { seconds, applied } = await watch(installation, before, events.length);
  const cpu = (await cpuOf()) - cpuBefore;
  const servers = difference(serversBefore, await lookAtServers(installation));
  const peaks = await Promise.all(projectors.map(({ pid }) => peakMebibytes(pid)));
  await Promise.all(projectors.map(({ stop }) => stop()));
  return {
    events_per_second: applied / seconds,
    cpu_us: microseconds(cpu, events.length),
    mongodb_us: servers.mongodbCpu === null ? null : microseconds(servers.mongodbCpu, events.length),
    event_bytes: sum(events.map(({ value }) => Buffer.byteLength(value))) / events.length,
    peak_mib: Math.max(...peaks),
  };
}

/** Waits until the group of the live generation has so many members. */
async function allAtWork(installation: Installation, members: number): Promise<void> {
  const { databases, config, environment, kafka } = installation;
  const admin = kafka.admin();
  await admin.connect();
  try {
    await eventually('all projectors share the partitions', async () => {
      const live = await findLiveGeneration(databases, environment);
      if (live === null) return false;
      const group = generationGroup(config.namePrefix, environment, live.marker.number);
      const [described] = (await admin.describeGroups([group])).groups;
      return described?.state === 'Stable' && described.members.length === members;
    });
  } finally {
    await admin.disconnect();
  }
}

/** Looks until everything is applied: how long that took from the first event that was seen applied, and how many followed it. */
async function watch(
  installation: Installation,
  before: number,
  events: number,
): Promise<{ seconds: number; applied: number }> {
  let first: { at: number; done: number } | null = null;
  let last = { at: performance.now(), done: 0 };
  for (;;) {
    const done = (await positions(installation)) - before;
    const now = performance.now();
    if (done > last.done) {
      last = { at: now, done };
      first ??= last;
    }
    if (first !== null && done >= events) {
      // One look that sees all of it counts from the start.
      const from = first === last ? { at: now - LOOK_MS, done: 0 } : first;
      return { seconds: (now - from.at) / 1_000, applied: done - from.done };
    }
    if (now - last.at > STUCK_MS) throw new Error(`nothing happens after ${done} of ${events} events`);
    await sleep(LOOK_MS);
  }
}

/** How many events of the changes topic the checkpoints say are applied. */
async function positions(installation: Installation): Promise<number> {
  const checkpoints = await (
    await readModels(installation)
  )
    .collection<{ position: number }>(CHECKPOINTS)
    .find({ topic: changesTopic(installation.environment) })
    .toArray();
  return sum(checkpoints.map(({ position }) => position));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
