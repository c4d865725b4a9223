/** A rebuild from its beginning to the flip; each step can be the one with which a command goes on that was killed before. */
import { notFound, StoreDataError } from '#shared/errors.ts';
import { findGenerations, type KnownGeneration, liveOf } from '#shared/read-models/generation.ts';
import { beginRebuild, type Begun } from './begin.ts';
import { catchUp, type CatchUpOptions } from './catch-up.ts';
import { compareGenerations } from './compare.ts';
import { type Acceptance, type Comparison, unacceptable } from './comparison.ts';
import { flip, type Flipped } from './flip.ts';
import type { InstallationServers } from './installation.ts';

export interface RebuildOptions extends CatchUpOptions {
  /** As for `beginRebuild`. */
  share: number | null;
  accepted: Acceptance;
  /** Leaves the flip to the operator. */
  wait: boolean;
  begun: (begun: Begun) => void;
  comparing: (stores: number, of: number) => void;
}

export interface Rebuilt {
  number: number;
  comparison: Comparison;
  /** `null` where it was left to the operator, or differences forbid it. */
  flipped: Flipped | null;
}

/** Makes a new generation of an environment live. @throws as the steps do. */
export async function rebuild(
  servers: InstallationServers,
  environment: string,
  options: RebuildOptions,
): Promise<Rebuilt> {
  const begun = await beginRebuild(servers, environment, options.share);
  options.begun(begun);
  const { number } = begun;
  await catchUp(servers, environment, number, options);
  const comparison = await compareWithLive(servers, environment, number, options.comparing);
  const isHeld = options.wait || unacceptable(comparison, options.accepted).length > 0;
  return { number, comparison, flipped: isHeld ? null : await flip(servers, environment, number) };
}

/**
 * Compares a generation of this release with the live one.
 * @throws {StoreDataError} `not_found` where there is none, `generation_unsuitable` when another release made it.
 */
export async function compareWithLive(
  { databases, projectionVersion }: InstallationServers,
  environment: string,
  number: number,
  progress: (stores: number, of: number) => void,
): Promise<Comparison> {
  const generations = await findGenerations(databases, environment);
  const live = liveOf(environment, generations);
  const rebuilt = generations.find((generation) => generation.number === number);
  if (live === null || rebuilt === undefined || rebuilt.marker === null) {
    throw notFound(`${environment} has no generation ${number}`);
  }
  checkVersion(environment, rebuilt, projectionVersion);
  return compareGenerations({
    environment,
    live,
    rebuilt: { marker: rebuilt.marker, db: rebuilt.db },
    progress,
  });
}

function checkVersion(
  environment: string,
  { number, marker }: KnownGeneration,
  projectionVersion: number,
): void {
  if (marker?.projection_version === projectionVersion) return;
  throw new StoreDataError(
    'generation_unsuitable',
    `generation ${number} of ${environment} has projection version ${marker?.projection_version}, this release compares ${projectionVersion}: run the command of its release`,
  );
}
