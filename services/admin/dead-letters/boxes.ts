/** Where dead letters lie: those of changes in the generation that they were meant for, those of access in the control database. */
import type { Collection, Db } from 'mongodb';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { DEAD_LETTERS, type DeadLetter } from '#shared/read-models/collections.ts';
import {
  findGenerations,
  type Generation,
  liveOf,
  PROJECTION_VERSION,
} from '#shared/read-models/generation.ts';
import type { Servers } from '../connection/servers.ts';

export interface LetterBox {
  environment: string;
  kind: 'changes' | 'access';
  topic: string;
  /** Whose data a retry would change. */
  db: Db;
  letters: Collection<DeadLetter>;
  /** Why nothing can be retried there; `null` where it can. */
  obstacle: string | null;
}

/** The boxes of some environments, in the order in which letters are listed and retried. */
export async function letterBoxes(servers: Servers, environments: readonly string[]): Promise<LetterBox[]> {
  const control = await servers.control();
  const boxes: LetterBox[] = [];
  for (const environment of environments) {
    boxes.push({
      environment,
      kind: 'access',
      topic: accessTopic(environment),
      db: control,
      letters: control.collection(DEAD_LETTERS),
      obstacle: null,
    });
    const generation = liveOf(
      environment,
      await findGenerations(await servers.databases(environment), environment),
    );
    if (generation !== null) boxes.push(changesBox(environment, generation));
  }
  return boxes;
}

/** The boxes with the same topic's letters in generations that are not live: what is decided holds there too. */
export async function otherBoxes(servers: Servers, { kind, environment }: LetterBox): Promise<LetterBox[]> {
  if (kind === 'access') return [];
  const generations = await findGenerations(await servers.databases(environment), environment);
  return generations.flatMap(({ state, db, marker }) =>
    marker === null || state === 'live' || state === 'dropping'
      ? []
      : [changesBox(environment, { db, marker })],
  );
}

function changesBox(environment: string, { db, marker }: Generation): LetterBox {
  return {
    environment,
    kind: 'changes',
    topic: changesTopic(environment),
    db,
    letters: db.collection(DEAD_LETTERS),
    obstacle:
      marker.projection_version === PROJECTION_VERSION
        ? null
        : `its read models were made with projection version ${marker.projection_version}, this release has ${PROJECTION_VERSION}`,
  };
}
