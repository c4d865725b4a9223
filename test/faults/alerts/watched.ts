/** An installation on servers of its own, whose services are processes that Prometheus watches. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { freePorts } from '#local/stack/program.ts';
import { newSigningKey } from '#shared/access/signing-key-set.ts';
import { pause } from '#shared/waiting.ts';
import { keyEvent, orderEvent } from '#test/events.ts';
import { eventually } from '#test/eventually.ts';
import { createInstallation } from '#test/installation.ts';
import { DEFAULT_TIMEOUTS } from '#test/patience.ts';
import { startRedisProcess } from '#test/redis-process.ts';
import {
  killAll,
  listening,
  type LogLine,
  type ServiceProcess,
  startService,
} from '#test/service-process.ts';
import { times } from '#test/times.ts';
import { createApiClient } from '#test/api-client.ts';
import { runCommand } from '../../services/admin/run-command.ts';
import { makeHome } from '../servers/home.ts';
import { LETS_HANG } from '../servers/hanging-transaction.ts';
import { startKafkaCluster } from '../servers/kafka-cluster.ts';
import { commandAt, startReplicaSet, WITH_TEST_COMMANDS } from '../servers/replica-set.ts';
import type { Server } from '../servers/server.ts';
import { startPrometheus } from './prometheus.ts';

export const STORE = 's1';
export const DEAD_LETTER_BYTES = 10_000;
const CLIENT = 'reader';
/** As many orders as are changed again and again. */
const ORDERS = 50;
const totalOf = (sequence: number) => `${sequence}.00`;
const REQUEST_MS = 10_000;
const WORKS_MS = 120_000;
const SHOWN_POLL_MS = 500;

export type Watched = Awaited<ReturnType<typeof startWatched>>;

/** @param program the path of `prometheus`. */
export async function startWatched(program: string) {
  await using begun = new AsyncDisposableStack();
  const made = async <T extends { close: () => Promise<void> }>(making: Promise<T>) => {
    const one = await making;
    begun.defer(() => one.close());
    return one;
  };
  const [kafka, mongodb, redis, home] = await Promise.all([
    made(startKafkaCluster(1, { settings: LETS_HANG })),
    made(startReplicaSet(1, { args: WITH_TEST_COMMANDS })),
    made(startRedisProcess()),
    made(makeHome()),
  ]);
  const mongod = mongodb.servers[0] as Server;
  const signingKeys = join(home.path, 'signing-keys.json');
  await writeFile(signingKeys, JSON.stringify({ keys: [await newSigningKey()] }));
  const installation = await made(
    createInstallation({
      partitions: 1,
      settings: {
        ...DEFAULT_TIMEOUTS,
        KAFKA_BROKERS: kafka.brokers,
        MONGODB_URI: mongodb.uri,
        REDIS_URL: redis.url,
        SIGNING_KEYS: '',
        SIGNING_KEYS_FILE: signingKeys,
        TOKEN_LIFETIME_SECONDS: '86400',
        DEAD_LETTER_BYTES: String(DEAD_LETTER_BYTES),
        LOG_REQUESTS_PERCENT: '0',
        PROJECTOR_SLICE_EVENTS: '100',
      },
    }),
  );
  installation.redis.on('error', () => undefined);
  const [projectorPort = 0, queryPort = 0, port = 0] = await freePorts(3);
  const service = (name: 'projector' | 'query', settings: Record<string, string>) => {
    const one = restartable(name, { ...installation.env, ...settings });
    begun.defer(one.kill);
    return one;
  };
  const projector = service('projector', {
    KAFKA_BROKERS: kafka.proxied,
    OPERATIONS_PORT: String(projectorPort),
  });
  const query = service('query', {
    OPERATIONS_PORT: String(queryPort),
    QUERY_PORT: String(port),
  });
  await Promise.all([projector.start(), query.start()]);

  const url = `http://127.0.0.1:${port}`;
  const api = createApiClient(url);
  await installation.publishAccess([keyEvent(CLIENT, 1)]);
  let token = '';
  const enter = async () => {
    const { status, json } = await api.askToken(CLIENT, 'secret');
    if (status === 200) token = (json as { access_token: string }).access_token;
    return status === 200;
  };
  await eventually('the key counts', enter);
  const get = (path: string) =>
    fetch(url + path, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(REQUEST_MS),
    });

  let sequence = 0;
  const orders = (count: number, time = new Date()) =>
    installation.publish(
      times(count, () => {
        sequence += 1;
        const data = { total: totalOf(sequence) };
        return orderEvent(`o${sequence % ORDERS}`, { storeId: STORE, sequence, time, data });
      }),
    );
  const prometheus = await made(
    startPrometheus(program, {
      'store-data-projector': `127.0.0.1:${projectorPort}`,
      'store-data-query': `127.0.0.1:${queryPort}`,
    }),
  );
  const running = begun.move();
  return {
    installation,
    kafka,
    mongod,
    redis,
    /** Its Kafka is behind `kafka.proxy`. */
    projector,
    query,
    prometheus,
    /** The file of the signing keys. */
    signingKeys,
    /** Runs `store-data`, which has to succeed. @returns its output. */
    async run(...args: string[]) {
      const { code, stdout, stderr } = await runCommand(installation.env, args);
      expect([args, code], stderr).toEqual([args, 0]);
      return stdout;
    },
    /** Publishes so many orders. */
    orders,
    /** Sends so many requests at the same time. */
    async requests(count: number) {
      // Without an answer, and with one of any status, it was a request.
      await Promise.allSettled(
        times(count, async () => (await get('/api/order/list?page_size=1')).arrayBuffer()),
      );
    },
    /** Shows by a request that an order published now is applied. */
    async works() {
      await orders(1);
      const last = sequence;
      const shown = async () => {
        const answer = await get(`/api/order/details/?order_id=o${last % ORDERS}`).catch(
          () => null,
        );
        // Sessions end with Redis.
        if (answer?.status === 401) await enter();
        const order = (await answer?.json()) as { total?: string } | undefined;
        if (order?.total === totalOf(last)) return true;
        // Each request that fails meanwhile uses up the budget of failures.
        await sleep(SHOWN_POLL_MS);
        return false;
      };
      await eventually('an order is shown', shown, WORKS_MS);
    },
    /** Ends whatever a drill that failed has left, so that the next does not fail for it. */
    async recover() {
      mongod.resume();
      await commandAt(mongod, { configureFailPoint: 'failCommand', mode: 'off' });
      for (const server of [...kafka.servers, ...mongodb.servers])
        if (!server.isRunning()) await server.start();
      await kafka.proxy.restore();
      await redis.client.config('SET', 'min-replicas-to-write', '0');
      for (const one of [projector, query]) {
        await one.kill();
        await one.start();
      }
    },
    close: () => running.disposeAsync(),
  };
}

/** A service whose operations port stays the same, as Prometheus has it. */
function restartable(name: 'projector' | 'query', env: Record<string, string>) {
  let current: ServiceProcess | null = null;
  const running = () => {
    if (current === null) throw new Error(`${name} was not started`);
    return current;
  };
  return {
    /** Resolves once it has started. */
    async start() {
      current = startService(name, env);
      await listening(current);
    },
    async kill() {
      if (current !== null) await killAll([current]);
    },
    freeze: () => running().kill('SIGSTOP'),
    /** The first line of the present process that `check` accepts, past or future. */
    logged: (check: (line: LogLine) => boolean) => running().logged(check),
    get lines() {
      return running().lines;
    },
  };
}

/** Repeats work until `over`, in spite of failures: a server may be away. */
export async function repeat(
  work: () => Promise<unknown>,
  everyMs: number,
  over: AbortSignal,
): Promise<void> {
  while (!over.aborted) {
    await work().catch(() => undefined);
    await pause(everyMs, over);
  }
}
