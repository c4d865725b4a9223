/**
 * Starts topics, services, keys and the simulator on three running servers, and waits until the
 * published history can be read.
 */
import { join } from 'node:path';
import { createSimulator } from '#local/simulator/simulator.ts';
import { cacheFolder } from '#local/stack/fetch.ts';
import type { Guard } from '#local/stack/process.ts';
import type { Stack } from '#local/stack/stack.ts';
import { reasonOf, StackError } from '#local/stack/part.ts';
import { readConfig } from '#shared/config.ts';
import { createKafka } from '#shared/kafka/client.ts';
import { createLogger } from '#shared/logging.ts';
import { createReaderClient } from '#shared/mongodb.ts';
import { Databases } from '#shared/read-models/generation.ts';
import { type HistoryProgress, showLive } from './figures.ts';
import { keySeed, makeKeys, prepareSigningKey, publishKeys, type StackFile } from './files.ts';
import type { StartOptions } from './options.ts';
import type { Screen } from './screen.ts';
import { startServices } from './service.ts';
import { makeTopics, settle } from './settle.ts';

export const ENVIRONMENTS = ['production', 'sandbox'] as const;

const PARTITIONS = 3;
const DEFAULT_PREFIX = 'store_data';
/** The same stores in every run. */
const SEED = 1;
/** Enough for the longest history. */
const HISTORY_LIMIT_MS = 86_400_000;

interface BringUp {
  options: StartOptions;
  /** Of the API. */
  port: number;
  stack: Stack;
  guard: Guard;
  screen: Screen;
  /** Ends all that is started here, in reverse order. */
  cleanup: AsyncDisposableStack;
  stopping: AbortSignal;
}

/** @returns the content of the stack's file, and the simulator. */
export async function bringUp(context: BringUp) {
  const { options, port, stack, guard, screen, cleanup, stopping } = context;
  screen.live(['making topics …']);
  const signingKeysFile = await prepareSigningKey(options.folder, options.keepData);
  const env = serviceEnvironment(context, signingKeysFile);
  const config = readConfig(env);
  const kafka = createKafka(config, 'local-start', createLogger('local-start', 'silent'));
  await makeTopics(kafka, ENVIRONMENTS, PARTITIONS);

  const simulator = await createSimulator({
    kafka,
    environments: ENVIRONMENTS,
    seed: SEED,
    stores: options.stores,
    history: options.history,
    ordersPerMinute: options.ordersPerMinute,
    onTrouble: () => {
      if (!stopping.aborted)
        screen.line('simulator: Kafka does not accept events now; trying again');
    },
  });
  cleanup.defer(() => simulator.stop());
  const storeIds = simulator.stores.map(({ id }) => id);
  const keys = makeKeys(storeIds, ENVIRONMENTS, await keySeed(cacheFolder(process.env)));

  const history: HistoryProgress = {
    orders: 0,
    ofOrders: simulator.historyOrders,
    isVisible: false,
  };
  const publish = async () => {
    try {
      await publishKeys(kafka, keys);
      await simulator.publishHistory((orders) => (history.orders = orders));
    } catch (error) {
      throw new StackError(`Kafka does not accept events: ${reasonOf(error)}`, { cause: error });
    }
  };
  const client = createReaderClient(config, 'local-start');
  cleanup.defer(() => client.close());
  const databases = new Databases(config.namePrefix, client);
  const serve = async () => {
    const logs = join(options.folder, 'logs');
    screen.live(['starting the projector and the query service …']);
    const { url, operations } = await startServices(
      { env, logs, guard, log: screen.line },
      cleanup,
      port,
    );
    const sources = { ...operations, databases, environments: ENVIRONMENTS };
    const showing = showLive(screen, sources, { stores: options.stores, history }, stopping);
    cleanup.defer(() => showing);
    return { query_url: url, operations_urls: Object.values(operations) };
  };
  const [urls] = await Promise.all([serve(), publish()]);
  for (const environment of ENVIRONMENTS) {
    await settle({ kafka, databases, environment }, HISTORY_LIMIT_MS, stopping);
  }
  history.isVisible = true;

  const prefix = process.env['NAME_PREFIX'] ?? DEFAULT_PREFIX;
  const file: StackFile = {
    ...urls,
    kafka_brokers: stack.kafkaBrokers,
    mongodb_uri: stack.mongodbUri,
    redis_url: stack.redisUrl,
    environments: [...ENVIRONMENTS],
    keys,
    ...(prefix === DEFAULT_PREFIX ? {} : { name_prefix: prefix }),
  };
  return { file, simulator };
}

/**
 * The services' environment variables. Operations ports are free ones: two installations may run on
 * one machine.
 */
function serviceEnvironment(
  { options, stack }: BringUp,
  signingKeysFile: string,
): NodeJS.ProcessEnv {
  const { quota } = options;
  const level = process.env['LOG_LEVEL'];
  const environments = ENVIRONMENTS.join(',');
  return {
    ...process.env,
    ENVIRONMENTS: environments,
    KAFKA_BROKERS: stack.kafkaBrokers.join(','),
    MONGODB_URI: stack.mongodbUri,
    REDIS_URL: stack.redisUrl,
    SIGNING_KEYS: '',
    SIGNING_KEYS_FILE: signingKeysFile,
    OPERATIONS_PORT: '0',
    // Without a load balancer no delay is needed.
    SHUTDOWN_DELAY_MS: process.env['SHUTDOWN_DELAY_MS'] ?? '0',
    // At this level a service logs its addresses.
    LOG_LEVEL: level === 'debug' || level === 'trace' ? level : 'info',
    ...(quota !== undefined && { QUOTA_REQUESTS: String(quota), QUOTA_WINDOW_SECONDS: '60' }),
  };
}
