/** Reads generations of an installation, for tests of rebuilds. */
import type { Db } from 'mongodb';
import { findGenerations } from '#shared/read-models/generation.ts';
import { type Installation } from './installation.ts';
import { appliedIn } from './read-models.ts';

export function generationDb({ databases, environment }: Installation, number: number): Db {
  return databases.generation(environment, number);
}

/** The numbers and states of an environment's generations. */
export async function statesOf(
  installation: Installation,
  of = installation.environment,
): Promise<string[]> {
  const found = await findGenerations(installation.databases, of);
  return found.map(({ number, state }) => `${number} ${state}`);
}

/** Waits until a generation has applied the log to its end. */
export function generationCaughtUp(installation: Installation, number: number): Promise<void> {
  const db = generationDb(installation, number);
  return appliedIn(async () => db, installation, installation.environment);
}
