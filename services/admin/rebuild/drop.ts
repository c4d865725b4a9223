/**
 * Drops a generation. First everybody is told to leave it alone, then it is waited for, then the database goes; the
 * pointer forgets it last, so that a command that was killed can be run again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoNetworkTimeoutError, MongoServerError } from 'mongodb';
import { commandInvalid } from '#shared/errors.ts';
import { changePointer, without, withDropping } from '#shared/read-models/generation-pointer.ts';
import { findGenerations, generationGroup } from '#shared/read-models/generation.ts';
import type { InstallationServers } from './installation.ts';

/** Projectors and query services look twice a second, and each may fail to do so a few times. */
const HEARD_MS = 3_000;
/** A projector that was frozen may come back for a moment; longer than this it is not waited for. */
const LEFT_MS = 60_000;
/** For how long the database must stay gone: a process that was about to make an index would make it anew. */
const GONE_MS = 1_000;
const LOOK_MS = 200;
const DATABASE_DROP_PENDING = 215;

/**
 * Drops a generation that is not live.
 * @throws {StoreDataError} `command_invalid` for the live one or while projectors don't leave it, `not_found` where there is none.
 */
export async function dropGeneration(
  servers: InstallationServers,
  environment: string,
  number: number,
): Promise<void> {
  const { databases } = servers;
  const { control } = databases;
  await changePointer(control, environment, (pointer) => withDropping(pointer, number));
  await sleep(HEARD_MS);
  await untilLeft(servers, environment, number);
  const found = (await findGenerations(databases, environment)).find(
    (generation) => generation.number === number,
  );
  if (found !== undefined) {
    do {
      await found.db.dropDatabase().catch(unlessBeingDropped);
      await sleep(GONE_MS);
    } while ((await found.db.listCollections({}, { nameOnly: true }).toArray()).length > 0);
  }
  await changePointer(control, environment, (pointer) => without(pointer, number));
}

/** MongoDB goes on with a drop whose command ended or took too long, and refuses another one meanwhile. */
function unlessBeingDropped(error: unknown): void {
  if (error instanceof MongoNetworkTimeoutError) return;
  if (!(error instanceof MongoServerError && error.code === DATABASE_DROP_PENDING)) throw error;
}

/** Waits until nobody belongs to its consumer group any longer, and removes the group. */
async function untilLeft(
  { kafka, prefix }: InstallationServers,
  environment: string,
  number: number,
): Promise<void> {
  const group = generationGroup(prefix, environment, number);
  for (const end = performance.now() + LEFT_MS; ; await sleep(LOOK_MS)) {
    const { groups } = await kafka.describeGroups([group]);
    const [found] = groups;
    if (found === undefined || found.state === 'Dead') return;
    if (found.members.length === 0) {
      await kafka.deleteGroups([group]);
      return;
    }
    if (performance.now() > end) {
      throw commandInvalid(
        `generation ${number} of ${environment} is not dropped yet: ${found.members.length} projectors don't leave its consumer group ${group}. Run the command again once they do`,
      );
    }
  }
}
