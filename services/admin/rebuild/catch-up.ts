/** Follows a generation that is being filled until it has caught up with the live one. */
import { commandInvalid, notFound, type StoreDataError } from '#shared/errors.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { findGenerations, generationGroup, liveOf } from '#shared/read-models/generation.ts';
import { pause } from '#shared/pause.ts';
import { checkReachesBack } from './begin.ts';
import {
  countApplied,
  hasReached,
  type InstallationServers,
  type Positions,
  readLogBounds,
  readPositions,
  targetOf,
} from './installation.ts';

const LOOK_MS = 500;
/** Who has reached what the live one had applied this long ago has caught up. */
const CLOSE_MS = 2_000;
/** After this time without anybody who fills it, that is said. */
const UNATTENDED_MS = 5_000;

export interface CatchUpState {
  applied: number;
  total: number;
}

export interface CatchUpOptions {
  signal: AbortSignal;
  progress: (state: CatchUpState) => void;
  /** Told once when no projector fills the generation. */
  unattended: () => void;
}

/**
 * Resolves when the generation is as far as the live one was a moment ago.
 * @throws {StoreDataError} `not_found` when somebody drops it meanwhile, `topic_unsuitable` when the log loses messages,
 * `command_invalid` when the signal is aborted.
 */
export async function catchUp(
  servers: InstallationServers,
  environment: string,
  number: number,
  { signal, progress, unattended }: CatchUpOptions,
): Promise<void> {
  const targets: { at: number; target: Positions }[] = [];
  const began = performance.now();
  let isAttended = false;
  for (;;) {
    const generations = await findGenerations(servers.databases, environment);
    const built = generations.find((generation) => generation.number === number);
    const live = liveOf(environment, generations);
    if (built === undefined || built.state === 'dropping' || live === null) {
      throw notFound(`generation ${number} of ${environment} was dropped`);
    }
    // Positions first: what comes meanwhile counts as not applied.
    const positions = await readPositions(built.db, environment);
    const target = await readPositions(live.db, environment);
    const bounds = await readLogBounds(servers, environment);
    checkReachesBack(environment, bounds);
    progress(countApplied(positions, bounds));

    const now = performance.now();
    while ((targets[0]?.at ?? now) < now - CLOSE_MS) targets.shift();
    targets.push({ at: now, target: targetOf(target, bounds) });
    if (targets.some((earlier) => hasReached(positions, earlier.target))) return;

    if (!isAttended && now - began > UNATTENDED_MS) {
      isAttended = true;
      if (!(await isFilled(servers, environment, number))) unattended();
    }
    if (!(await pause(LOOK_MS, signal))) throw interrupted(environment, number);
  }
}

/** What a command says that was told to stop. */
function interrupted(environment: string, number: number): StoreDataError {
  return commandInvalid(
    `interrupted: projectors go on filling generation ${number} of ${environment}. Run the command again to go on from there, or drop it with "store-data generations drop ${number} --environment ${environment}"`,
  );
}

async function isFilled(
  { kafka, prefix }: InstallationServers,
  environment: string,
  number: number,
): Promise<boolean> {
  const { groups } = await kafka.describeGroups([generationGroup(prefix, environment, number)]);
  return groups.some(({ members }) => members.length > 0);
}

/** In words, for the operator: nobody fills the generation. */
export function describeUnattended(environment: string, number: number, projectionVersion: number): string {
  return `no projector fills generation ${number}: start one of this release (projection version ${projectionVersion}) that applies ${changesTopic(environment)}`;
}
