// The server sources that this machine has, so that the stack's tests require neither a Docker
// engine nor Maven.
import { ensureImage, findEngine, imageOf } from '#local/stack/container.ts';
import { requirePlatform } from '#local/stack/fetch.ts';
import { kafkaPart } from '#local/stack/kafka/kafka.ts';
import { mongodbPart } from '#local/stack/mongodb/mongodb.ts';
import { type ImageVariable, StackError } from '#local/stack/part.ts';
import { findOnPath } from '#local/stack/program.ts';
import { redisPart } from '#local/stack/redis/redis.ts';

type Source = 'program' | 'container';

/** At least one exists, since the integration tests run on one. */
export async function testableSources(): Promise<Source[]> {
  const images = [kafkaPart, mongodbPart, redisPart].map((part) => part.imageVariable);
  const absent = { program: missingProgram(), container: await missingContainer(images) };
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

/** The reason why there is no Docker engine with these images; undefined if there is. */
export async function missingContainer(
  images: readonly ImageVariable[],
): Promise<string | undefined> {
  try {
    const engine = await findEngine();
    for (const variable of images)
      await ensureImage(engine, imageOf(variable, process.env), () => undefined);
    return undefined;
  } catch (error) {
    if (!(error instanceof StackError)) throw error;
    return error.message;
  }
}
