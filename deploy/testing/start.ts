/** Starts a whole API for one test run, with topic and database names of its own. */
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServices } from '#local/start/service.ts';
import { prepareSigningKey, signingKeyPath } from '#local/start/files.ts';
import { makeTopics } from '#local/start/settle.ts';
import { startGuard } from '#local/stack/process.ts';
import { startStack } from '#local/stack/stack.ts';
import { type Config, readConfig, withoutSettings } from '#shared/config.ts';
import { describeError } from '#shared/errors.ts';
import { topicsOf } from '#shared/events/topics.ts';
import { askKafka, findTopics } from '#shared/kafka/client.ts';
import { createWriterClient } from '#shared/mongodb.ts';
import type * as Api from './api.d.ts';
import { connectStoreData, kafkaOf } from './connect.ts';

/**
 * How long to wait for killed members to leave a consumer group, and how often to poll for that.
 */
const LEFT_MS = 30_000;
const POLL_MS = 200;

export const startStoreData: typeof Api.startStoreData = async (options = {}) =>
  (await startWithServices(options)).api;

export interface WithServices {
  api: Api.StoreData;
  /** Kills a service, which restarts after a second. */
  crash: (service: 'projector' | 'query') => Promise<void>;
}

/** Also lets the caller kill services. */
export async function startWithServices(options: Api.StartOptions): Promise<WithServices> {
  const { fixtures = [], partitions = 2, log = () => undefined } = options;
  const cleanup = new AsyncDisposableStack();
  try {
    const guard = startGuard();
    cleanup.defer(() => guard.close());
    const folder = await mkdtemp(join(tmpdir(), 'store-data-testing-'));
    cleanup.defer(() => rm(folder, { recursive: true, force: true }));
    const logs = join(folder, 'logs');
    // The folder goes with the last file in it.
    await guard.hold('path', signingKeyPath(folder), logs);
    const stack = await startStack({ dataFolder: folder, log });
    cleanup.defer(() => stack.stop());
    const environment = `test-${randomBytes(4).toString('hex')}`;
    const settings = {
      // Only tests that set limits reach them.
      QUOTA_REQUESTS: '1000000',
      AUTH_FAILURES_PER_ADDRESS: '1000000',
      AUTH_FAILURES_PER_CLIENT: '1000000',
      AUTH_FAILURES_PER_CLIENT_AND_ADDRESS: '1000000',
      KAFKA_SESSION_TIMEOUT_MS: '6000',
      SHUTDOWN_DELAY_MS: '0',
      ...options.settings,
      ENVIRONMENTS: environment,
      NAME_PREFIX: environment.replace('-', '_'),
      KAFKA_BROKERS: stack.kafkaBrokers.join(','),
      MONGODB_URI: stack.mongodbUri,
      REDIS_URL: stack.redisUrl,
      SIGNING_KEYS_FILE: await prepareSigningKey(folder, false),
      QUERY_PORT: '0',
      OPERATIONS_PORT: '0',
      LOG_LEVEL: 'info',
    };
    // The developer's own settings are for other servers.
    await mkdir(logs, { recursive: true });
    const env = { ...withoutSettings(process.env), ...settings };
    const config = readConfig(settings);
    // Before the creation: its answer may be lost.
    cleanup.defer(() => removeFromKafka(config));
    cleanup.defer(() => removeDatabases(config));
    await makeTopics(kafkaOf(config), [environment], partitions);
    const { url, services } = await startServices({ env, logs, guard, log }, cleanup);
    const api = await connectStoreData({ url, environment, settings });
    cleanup.defer(() => api.stop());
    await api.publish(fixtures);
    return {
      api: { ...api, stop: () => cleanup.disposeAsync() },
      crash: (service) => services[service].crash(),
    };
  } catch (error) {
    await cleanup
      .disposeAsync()
      .catch((left: unknown) => log(`the cleanup failed: ${describeError(left)}`));
    throw error;
  }
}

/**
 * Removes topics and groups, since the brokers may have run before; keys in Redis expire by
 * themselves.
 */
async function removeFromKafka(config: Config): Promise<void> {
  await askKafka(kafkaOf(config), async (admin) => {
    const topics = config.environments.flatMap(topicsOf);
    const made = await findTopics(admin, topics);
    if (made.size > 0) await admin.deleteTopics({ topics: [...made] });
    for (const end = performance.now() + LEFT_MS; ; await sleep(POLL_MS)) {
      const { groups } = await admin.listGroups();
      const own = groups
        .map(({ groupId }) => groupId)
        .filter((id) => id.startsWith(`${config.namePrefix}.`));
      if (own.length === 0) return;
      // A killed projector stays in its group until its session ends.
      await admin.deleteGroups(own).catch((error: unknown) => {
        if (performance.now() > end) throw error;
      });
    }
  });
}

async function removeDatabases(config: Config): Promise<void> {
  await using mongodb = createWriterClient(config, 'store-data-testing');
  const { databases } = await mongodb.db().admin().listDatabases({ nameOnly: true });
  const own = databases.filter(({ name }) => name.startsWith(`${config.namePrefix}_`));
  await Promise.all(own.map(({ name }) => mongodb.db(name).dropDatabase()));
}
