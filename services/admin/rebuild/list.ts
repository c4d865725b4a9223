/** What there is of an environment's generations, for operators. */
import { findGenerations, generationGroup, type KnownGeneration } from '#shared/read-models/generation.ts';
import { countApplied, type InstallationServers, readLogBounds, readPositions } from './installation.ts';

export interface GenerationStatus {
  environment: string;
  number: number;
  state: KnownGeneration['state'];
  /** `null` where its database has no marker. */
  projectionVersion: number | null;
  createdAt: Date | null;
  database: string;
  /** Messages that are not applied yet. */
  lag: number;
  /** How many projectors belong to its consumer group. */
  projectors: number;
}

/** The generations of an environment, in the order of their numbers. */
export async function listGenerations(
  servers: InstallationServers,
  environment: string,
): Promise<GenerationStatus[]> {
  const { databases, kafka, prefix } = servers;
  const known = await findGenerations(databases, environment);
  if (known.length === 0) return [];
  const bounds = await readLogBounds(servers, environment);
  const { groups } = await kafka.describeGroups(
    known.map(({ number }) => generationGroup(prefix, environment, number)),
  );
  const members = new Map(groups.map((group) => [group.groupId, group.members.length]));
  return Promise.all(
    known.map(async ({ number, state, db, marker }): Promise<GenerationStatus> => {
      const { applied, total } = countApplied(await readPositions(db, environment), bounds);
      return {
        environment,
        number,
        state,
        projectionVersion: marker?.projection_version ?? null,
        createdAt: marker?.created_at ?? null,
        database: db.databaseName,
        lag: total - applied,
        projectors: members.get(generationGroup(prefix, environment, number)) ?? 0,
      };
    }),
  );
}
