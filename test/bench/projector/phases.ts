/** How far a side is, sight after sight, and what creations and changes take, solved for from both halves of the run. */
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuSeconds } from '../process-figures.ts';
import type { RunningWriter } from './writer.ts';
import { PARTITIONS } from './topic.ts';

const LOOK_MS = 50;
/** A side is given up when it writes nothing for so long. */
const STUCK_MS = 120_000;

/**
 * Looks until `isDone`.
 * @param mongod its process on this machine, if it is there.
 */
export async function watch(
  side: RunningWriter,
  mongod: number | null,
  isDone: (total: number) => boolean,
): Promise<Sight[]> {
  const sights: Sight[] = [];
  let movedAt = performance.now();
  let before = -1;
  for (;;) {
    const known = await side.positions();
    const positions = Array.from({ length: PARTITIONS }, (_, partition) => known.get(partition) ?? 0);
    const sight: Sight = {
      at: performance.now(),
      positions,
      writerCpu: await cpuSeconds(side.pid),
      mongodCpu: mongod === null ? null : await cpuSeconds(mongod),
    };
    sights.push(sight);
    const total = totalOf(positions);
    if (isDone(total)) return sights;
    if (total > before) [before, movedAt] = [total, sight.at];
    else if (sight.at - movedAt > STUCK_MS) throw new Error(`nothing happens after ${total} events`);
    await sleep(LOOK_MS);
  }
}

/** What was seen at one moment. */
export interface Sight {
  /** Milliseconds of a steady clock. */
  at: number;
  /** Events written of each partition, in the order of partitions. */
  positions: number[];
  writerCpu: number;
  mongodCpu: number | null;
}

export interface Pace {
  events_per_second: number;
  /** Seconds of processor time for 1,000 events. */
  writer_cpu: number;
  /** `null` where MongoDB does not run on this machine. */
  mongod_cpu: number | null;
}

export interface Phases {
  created: Pace;
  changed: Pace;
  /** From the first event to the last, the end included where not all partitions have work. */
  all: Pace;
}

/** @param boundaries where changes begin in each partition; there are as many changes as creations. */
export function phasesOf(sights: readonly Sight[], boundaries: readonly number[]): Phases {
  const begun = sights.find(({ positions }) => totalOf(positions) > 0);
  const ended = sights.at(-1);
  const middle = sights.find(({ positions }) => totalOf(positions) >= totalOf(boundaries));
  if (begun === undefined || ended === undefined || middle === undefined) throw new Error('nothing was seen');
  const first = stretch(begun, middle, boundaries);
  const second = stretch(middle, ended, boundaries);
  const [createdTime, changedTime] = shareOut(first, second, ({ seconds }) => seconds);
  const [createdWriter, changedWriter] = shareOut(first, second, ({ writer }) => writer);
  const mongod =
    first.mongod === null ? null : shareOut(first, second, ({ mongod: seconds }) => seconds ?? Number.NaN);
  const all = stretch(begun, ended, boundaries);
  const events = all.created + all.changed;
  return {
    created: paceOf(createdTime, createdWriter, mongod?.[0] ?? null),
    changed: paceOf(changedTime, changedWriter, mongod?.[1] ?? null),
    all: paceOf(all.seconds / events, all.writer / events, all.mongod === null ? null : all.mongod / events),
  };
}

/** What was done between two sights, and what it took. */
interface Stretch {
  created: number;
  changed: number;
  seconds: number;
  writer: number;
  mongod: number | null;
}

function stretch(from: Sight, to: Sight, boundaries: readonly number[]): Stretch {
  const createdAt = ({ positions }: Sight) =>
    totalOf(boundaries.map((boundary, partition) => Math.min(boundary, positions[partition] ?? 0)));
  const created = createdAt(to) - createdAt(from);
  return {
    created,
    changed: totalOf(to.positions) - totalOf(from.positions) - created,
    seconds: (to.at - from.at) / 1_000,
    writer: to.writerCpu - from.writerCpu,
    mongod: to.mongodCpu === null || from.mongodCpu === null ? null : to.mongodCpu - from.mongodCpu,
  };
}

/**
 * What a creation and what a change takes, from two stretches that have unlike parts of both: partitions advance
 * unevenly, so that no stretch is of one kind alone.
 */
function shareOut(first: Stretch, second: Stretch, of: (stretch: Stretch) => number): [number, number] {
  const determinant = first.created * second.changed - first.changed * second.created;
  return [
    (of(first) * second.changed - of(second) * first.changed) / determinant,
    (of(second) * first.created - of(first) * second.created) / determinant,
  ];
}

function paceOf(seconds: number, writer: number, mongod: number | null): Pace {
  return {
    events_per_second: 1 / seconds,
    writer_cpu: writer * 1_000,
    mongod_cpu: mongod === null ? null : mongod * 1_000,
  };
}

export function totalOf(positions: readonly number[]): number {
  return positions.reduce((sum, position) => sum + position, 0);
}
