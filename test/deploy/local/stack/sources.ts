// The server sources that this machine has, so that the stack's tests require neither a Docker
// engine nor Maven.
import { findEngine, imageOf, missingImage } from '#local/stack/container.ts';
import { requirePlatform } from '#local/stack/fetch.ts';
import { kafkaPart } from '#local/stack/kafka/kafka.ts';
import { mongodbPart } from '#local/stack/mongodb/mongodb.ts';
import { findOnPath } from '#local/stack/program.ts';
import { redisPart } from '#local/stack/redis/redis.ts';

type Source = 'program' | 'container';

/** At least one exists, since the integration tests run on one. */
export async function testableSources(): Promise<Source[]> {
  const absent = { program: missingProgram(), container: await missingContainer() };
  const sources: Source[] = ['program', 'container'];
  for (const source of sources) {
    if (absent[source] !== undefined)
      process.stderr.write(`skipped, source ${source}: ${absent[source]}\n`);
  }
  return sources.filter((source) => absent[source] === undefined);
}

function missingProgram(): string | undefined {
  try {
    requirePlatform();
  } catch (error) {
    return String(error);
  }
  const missing = ['python3', 'mvn'].filter((name) => findOnPath(name, process.env) === undefined);
  return missing.length === 0 ? undefined : `${missing.join(' and ')} not found`;
}

async function missingContainer(): Promise<string | undefined> {
  const answer = await findEngine();
  if ('absent' in answer) return answer.absent;
  for (const part of [kafkaPart, mongodbPart, redisPart]) {
    const image = imageOf(part.imageVariable, process.env);
    const missing = await missingImage(answer.engine, image, () => undefined);
    if (missing !== undefined) return missing;
  }
  return undefined;
}
