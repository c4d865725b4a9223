/**
 * What requests are answered with: connections, the gates to Redis, generations and what is read
 * from them. Made once for the process.
 */
import { LRUCache } from 'lru-cache';
import { controlCollections } from '#shared/access/access-keys.ts';
import type { Logger } from '#shared/logging.ts';
import type { Generation } from '#shared/read-models/generation.ts';
import type { Span } from '#shared/tracing.ts';
import { type RedisGates, redisGates } from './access/redis-gate.ts';
import { authenticate, reauthorize } from './access/live-access.ts';
import { connectMongodb, connectRedis, type MongodbConnections } from './connections.ts';
import { withinStartupTimeout } from './deadline.ts';
import { sharedChanges } from './feed/shared-changes.ts';
import { watchChanges } from './feed/watch.ts';
import { type LiveGenerations, watchGenerations } from './generations.ts';
import { menuReader } from './menu/menus.ts';
import type { ServiceContext } from './metrics.ts';
import type { AdmittedRequest, Admission } from './overload/admission.ts';
import { createCaches } from './read/caches.ts';
import { sharedReads } from './read/shared-reads.ts';
import { semaphore } from './read/slots.ts';
import type { Client, Tokens } from './access/tokens.ts';
import { authenticateClient, keyReader } from './token/client.ts';
import type { ClientAddress } from './access/client-address.ts';
import { createFailedAuthentications } from './token/failed-authentications.ts';

/** Reads alone, in all and of one store. */
const MAX_ALONE = 24;
const MAX_ALONE_OF_ONE = 2;
/** Large answers that are composed or sent at a time: each takes 30 MiB of memory at most. */
const MAX_STREAMS = 8;
const MAX_STREAMS_OF_ONE = 2;
/** Those that answer, and previous ones until their last requests are answered. */
const CACHED_GENERATIONS = 100;

interface ServiceOptions extends ServiceContext {
  admission: Admission;
  tokens: Tokens;
  addressOf: ClientAddress;
  projectionVersion: number;
}

export type Services = Awaited<ReturnType<typeof createServices>>;

declare module 'fastify' {
  interface FastifyInstance {
    services: Services;
  }
  interface FastifyRequest {
    /** `null` for `/health`. */
    admitted: AdmittedRequest | null;
    /** `null` until the token passed. */
    caller: Client | null;
    /** Of a known key. */
    clientId: string | null;
    /** Why it was refused, if it was. */
    refusedFor: string | null;
    /** How long it waited for changes. */
    heldMilliseconds: number;
    /** If it is traced. */
    span: Span | null;
  }
}

/**
 * Connects to the servers; keeps trying during an outage.
 * @throws {StoreDataError} if a server answers but is unfit.
 */
export async function createServices(options: ServiceOptions) {
  const { config, logger, metrics, tokens } = options;
  const { namePrefix: prefix, environments, query } = config;
  await using opened = new AsyncDisposableStack();
  const mongodb = await connectMongodb(options);
  opened.defer(mongodb.close);
  const { databases, readDeadline, requestDeadline } = mongodb;
  const control = controlCollections(databases.control);
  const redis = await connectRedis(options);
  opened.defer(() => redis.disconnect());
  const gates = redisGates(redis, { prefix, control, environments, logger, metrics });
  opened.defer(gates.stop);
  await withinStartupTimeout(gates.firstAttempts());
  const generations = await watchGenerations({ ...options, databases, readDeadline });
  opened.defer(generations.stop);
  const reads = readsOfGenerations(generations, mongodb, logger);
  opened.defer(reads.stopWatches);
  const sources = { gates, control, prefix, quota: query.quota };
  const kept = opened.move();
  return {
    ...options,
    databases,
    control,
    redis,
    readDeadline,
    requestDeadline,
    generations,
    ...reads,
    authenticate: authenticate(tokens, sources, environments, requestDeadline),
    reauthorize: reauthorize(tokens, sources, readDeadline),
    authenticateClient: authenticateClient({
      ...sources,
      attempt: createFailedAuthentications(
        redis,
        prefix,
        query.authFailures,
        metrics.failedAuthentications,
      ),
      addressOf: options.addressOf,
      environments,
      maxTokens: query.maxTokensPerKey,
      readKey: keyReader(control, readDeadline),
    }),
    isHealthy: healthCheck(gates, mongodb),
    close: () => kept.disposeAsync(),
  };
}

function readsOfGenerations(
  generations: LiveGenerations,
  { readDeadline, longDeadline, slotDeadline }: MongodbConnections,
  logger: Logger,
) {
  const caches = createCaches();
  const alone = {
    withDeadline: longDeadline,
    takeSlot: semaphore(MAX_ALONE, MAX_ALONE_OF_ONE, slotDeadline),
    takeStreamSlot: semaphore(MAX_STREAMS, MAX_STREAMS_OF_ONE, slotDeadline),
  };
  /**
   * The parts of a generation: its shared reads, and the watch for requests that wait for changes.
   */
  const make = (generation: Generation) => {
    const { id, environment } = generation.marker;
    const source = { generation, withDeadline: readDeadline, rows: caches.rows };
    const isCurrent = () => generations.find(environment)?.marker.id === id;
    return {
      reads: sharedReads(source, caches, alone),
      changes: sharedChanges(source, caches),
      watch: watchChanges({ ...source, logger, isCurrent }),
    };
  };
  const made = new LRUCache<string, ReturnType<typeof make>>({
    max: CACHED_GENERATIONS,
    dispose: ({ watch }) => void watch.stop(),
  });
  let isClosing = false;
  return {
    readMenu: menuReader(caches, alone.takeStreamSlot, slotDeadline),
    sharedOf(generation: Generation) {
      const { id } = generation.marker;
      const known = made.get(id);
      if (known !== undefined) return known;
      const shared = make(generation);
      made.set(id, shared);
      return shared;
    },
    isClosing: () => isClosing,
    /** Ends all waits for changes, since the service stops. */
    endWaits() {
      isClosing = true;
      for (const { watch } of made.values()) watch.end();
    },
    async stopWatches() {
      await Promise.all([...made.values()].map(({ watch }) => watch.stop()));
    },
  };
}

/** One Redis server that answers is enough: another instance would do no better. */
function healthCheck(
  gates: RedisGates,
  { databases, readDeadline }: MongodbConnections,
): () => Promise<boolean> {
  const admin = databases.client.db('admin');
  let running: Promise<boolean> | null = null;
  const check = async () => {
    const pings = [
      Promise.any(gates.ping()),
      readDeadline((signal) => admin.command({ ping: 1 }, { signal })),
    ];
    const answers = await Promise.allSettled(pings);
    running = null;
    return answers.every(({ status }) => status === 'fulfilled');
  };
  // Requests that come during a check share it.
  return () => (running ??= check());
}
