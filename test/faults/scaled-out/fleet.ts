/**
 * Query services behind HAProxy and projectors, on three brokers, three members of MongoDB and a
 * Redis Cluster, with events of 200 stores and 50 integrations that send requests continuously.
 */
import { expect } from 'vitest';
import { eventually } from '#test/eventually.ts';
import { startRedisCluster } from '#test/redis-cluster.ts';
import { killAll, listening, type ServiceProcess, startService } from '#test/service-process.ts';
import { times } from '#test/times.ts';
import { fetchToken, publishKeys, type PublishedKey } from '#test/tokens.ts';
import { runJson } from '../../services/admin/run-command.ts';
import { type Backend, startHaproxy } from '../servers/haproxy.ts';
import { startKafkaCluster } from '../servers/kafka-cluster.ts';
import { startReplicaSet } from '../servers/replica-set.ts';
import { startTrial } from '../trial.ts';
import { type GivenKey, startIntegrations } from './integrations.ts';

const STORES = 200;
const INTEGRATIONS = 50;
const PARTITIONS = 6;
const OF_EACH = 3;
const EVENTS_PER_SECOND = 50;
/** The values of production; other tests use longer or shorter ones. */
const USUAL = { KAFKA_SESSION_TIMEOUT_MS: '', SHUTDOWN_DELAY_MS: '' };

export type Fleet = Awaited<ReturnType<typeof startFleet>>;

/**
 * Starts everything, and waits until every integration got an answer.
 * @param settings of the query services.
 */
export async function startFleet(settings: Record<string, string>) {
  await using begun = new AsyncDisposableStack();
  const closed = async <T extends { close: () => Promise<void> }>(starting: Promise<T>) => {
    const started = await starting;
    begun.defer(() => started.close());
    return started;
  };
  // One by one: two cores start ten servers no faster in parallel.
  const mongodb = await closed(startReplicaSet(3));
  const kafka = await closed(startKafkaCluster(3));
  const redis = await closed(startRedisCluster());
  const proxy = await closed(startHaproxy());
  const trial = await closed(
    startTrial({
      partitions: PARTITIONS,
      stores: STORES,
      eventsPerSecond: EVENTS_PER_SECOND,
      settings: {
        KAFKA_BROKERS: kafka.brokers,
        MONGODB_URI: mongodb.uri,
        REDIS_URL: redis.url,
        LOG_REQUESTS_PERCENT: '1',
        ...USUAL,
      },
    }),
  );
  const env = { ...trial.installation.env, ENVIRONMENTS: trial.disturbed };
  /** The running ones, the oldest first. */
  const queries: (Backend & { process: ServiceProcess })[] = [];
  const projectors: ServiceProcess[] = [];
  begun.defer(() => killAll(queries.map(({ process }) => process)));

  const addQuery = async () => {
    const process = startService('query', { ...env, ...settings });
    const instance = { process, ...(await listening(process)) };
    queries.push(instance);
    await eventually('it is ready', async () => (await fetch(`${instance.operations}/ready`)).ok);
    await proxy.add(instance);
  };
  const addProjector = async () => {
    const joined = trial.start();
    await listening(joined);
    projectors.push(joined);
  };
  /** Publishes keys, and gets a token for each once it is active. */
  const giveKeys = async (storeIds: readonly string[]) => {
    const keys = await publishKeys(trial.installation, storeIds);
    const given: GivenKey[] = [];
    for (const key of keys) {
      await eventually(`the key of ${key.storeId} counts`, async () => {
        const token = await fetchToken(proxy.url, key).catch(() => null);
        if (token !== null) given.push({ ...key, token });
        return token !== null;
      });
    }
    return given;
  };
  await Promise.all(times(OF_EACH, () => Promise.all([addProjector(), addQuery()])));
  // By then each store has events.
  await trial.untilAdvanced();
  const keys = await giveKeys(times(INTEGRATIONS, (index) => `s${index * 4}`));
  const integrations = startIntegrations(proxy.url, keys);
  begun.defer(() => integrations.stop());
  await integrations.everyoneIsAnswered();
  integrations.takeFailures();
  const running = begun.move();
  return {
    kafka,
    mongodb,
    redis,
    trial,
    proxy,
    integrations,
    addQuery,
    addProjector,
    giveKeys,
    /** Stops the oldest one with SIGTERM, or kills it. @returns the time of the signal. */
    async endQuery(signal: 'SIGTERM' | 'SIGKILL') {
      const oldest = queries.shift();
      if (oldest === undefined) throw new Error('there is none');
      oldest.process.kill(signal);
      const toldAt = performance.now();
      const { code } = await oldest.process.ended;
      if (signal === 'SIGTERM') expect(code).toBe(0);
      // HAProxy notices a killed one a moment later.
      await integrations.everyoneIsAnswered();
      await proxy.remove(oldest);
      return toldAt;
    },
    async endProjector(signal: 'SIGTERM' | 'SIGKILL') {
      const oldest = projectors.shift();
      oldest?.kill(signal);
      const end = await oldest?.ended;
      if (signal === 'SIGTERM') expect(end?.code).toBe(0);
    },
    revoke: async ({ clientId }: PublishedKey) => {
      await runJson(env, ['keys', 'revoke', clientId]);
    },
    /** The status of a list request at each query service. */
    askEach: (token: string) => Promise.all(queries.map(({ url }) => statusOf(url, token))),
    close: () => running.disposeAsync(),
  };
}

/** The status of a list request. */
export async function statusOf(url: string, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${url}/api/order/list?page_size=1`, { headers });
  await response.arrayBuffer();
  return response.status;
}
