/** The brokers of one test: one, or three with three replicas, of which two must be in sync. */
import { execFile } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import kafkajs from 'kafkajs';
import { locateBroker } from '#local/stack/kafka/kafka.ts';
import type { Command } from '#local/stack/process.ts';
import { freePorts } from '#local/stack/program.ts';
import { TOPIC_CONFIG } from '#shared/kafka/client.ts';
import { eventually } from '#test/eventually.ts';
import { succeeds } from '#test/succeeds.ts';
import { startTcpProxy } from '#test/tcp-proxy.ts';
import { times } from '#test/times.ts';
import { makeHome } from './home.ts';
import { fetchTools } from './kafka-tools/fetched.ts';
import { makeServer, onFreePorts, startAll } from './server.ts';

export type KafkaCluster = Awaited<ReturnType<typeof startOnce>>;

const READY_MS = 60_000;

/**
 * Starts the brokers and waits until they accept topics.
 * @param options.settings additional settings of the brokers.
 * @param options.coordinates `false`: no consumer can join, since the offsets topic needs more replicas than there are brokers.
 */
export function startKafkaCluster(
  size: 1 | 3,
  options: { coordinates?: boolean; settings?: Record<string, string> } = {},
) {
  return onFreePorts(() => startOnce(size, options));
}

const BROKER = 'kafka.Kafka';

async function startOnce(
  size: 1 | 3,
  { coordinates = true, settings = {} }: NonNullable<Parameters<typeof startKafkaCluster>[1]>,
) {
  const home = await makeHome();
  const ports = await freePorts(3 * size);
  const nodes = times(size, (index) => {
    const [port = 0, controller = 0, behindProxy = 0] = ports.slice(3 * index);
    return { port, controller, behindProxy };
  });
  const members = nodes.map(({ port, controller }) => [port, controller]);
  const [first] = nodes;
  const proxy = await startTcpProxy({ host: '127.0.0.1', port: first?.behindProxy ?? 0 });
  let broker: Command | undefined;
  const servers = await Promise.all(
    nodes.map(async ({ port, controller, behindProxy }, index) => {
      const program = await locateBroker(home.context, {
        // A client gets the addresses of the listener that it used.
        listeners: `PLAINTEXT://127.0.0.1:${port},PROXIED://127.0.0.1:${behindProxy},CONTROLLER://127.0.0.1:${controller}`,
        'advertised.listeners': `PLAINTEXT://127.0.0.1:${port},PROXIED://127.0.0.1:${proxy.port}`,
        'listener.security.protocol.map':
          'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT',
        'inter.broker.listener.name': 'PLAINTEXT',
        ...(coordinates ? {} : { 'offsets.topic.replication.factor': String(size + 1) }),
        ...settings,
      });
      const { data, logFile } = await home.room(`kafka-${index + 1}`);
      const member = size === 3 ? { index, ports: members } : undefined;
      const command = await program.prepare(data, [port, controller], logFile, member);
      broker ??= command;
      return makeServer(home.context.guard, command, port, logFile);
    }),
  );
  const brokers = servers.map(({ port }) => `127.0.0.1:${port}`).join(',');
  const kafka = new kafkajs.Kafka({
    clientId: 'faults',
    brokers: brokers.split(','),
    logLevel: kafkajs.logLevel.NOTHING,
  });
  const admin = kafka.admin();
  const close = async () => {
    await admin.disconnect().catch(() => undefined);
    await proxy.close();
    await Promise.all(servers.map((server) => server.kill()));
    await home.close();
  };
  try {
    await startAll(servers, () => untilReady(kafka, size, coordinates));
    await admin.connect();
  } catch (error) {
    await close();
    throw error;
  }
  const partitionsOf = async (topic: string) => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    return (topics[0]?.partitions ?? []).toSorted((a, b) => a.partitionId - b.partitionId);
  };
  return {
    /** `host:port,…` for clients that bypass the proxies. */
    brokers,
    /** The same for clients that connect only through `proxy`; only for a single broker. */
    proxied: `127.0.0.1:${proxy.port}`,
    proxy,
    /** A connected client for administration. */
    admin,
    /** Runs one of Kafka's own commands, by its class, against the brokers. @returns its output. */
    async runTool(tool: string, ...args: string[]) {
      if (broker === undefined) throw new Error('there is no broker');
      const { file, args: java } = broker;
      const tools = join(await fetchTools(home.context), '*');
      const options = java.slice(0, java.indexOf(BROKER));
      const classPath = options.indexOf('-cp') + 1;
      const all = options.with(classPath, [options[classPath], tools].join(delimiter));
      return (
        await promisify(execFile)(file, [...all, tool, '--bootstrap-server', brokers, ...args])
      ).stdout;
    },
    servers,
    close,
    /** The log file of a partition at the first broker, while the log has a single segment. */
    logFile: (topic: string, partition: number) =>
      join(home.path, 'kafka-1', 'data', `${topic}-${partition}`, '00000000000000000000.log'),
    async leaderOf(topic: string, partition: number) {
      const { leader = 0 } = (await partitionsOf(topic))[partition] ?? {};
      const server = servers[leader - 1];
      if (server === undefined) throw new Error(`${topic}/${partition} has no leader`);
      return server;
    },
    /** The brokers of a topic's partitions, in order. */
    partitionsOf,
    /** Waits until all replicas of a topic are in sync. */
    inSync: (topic: string) =>
      eventually(
        `every copy of ${topic} is complete`,
        async () =>
          (await partitionsOf(topic)).every(({ isr, replicas }) => isr.length === replicas.length),
        READY_MS,
      ),
    /**
     * Deletes a topic and creates it again; a write needs one copy in sync.
     * @param replicas the brokers that hold each partition.
     */
    async placeTopic(topic: string, replicas: number[][], settings: Record<string, string> = {}) {
      await admin.deleteTopics({ topics: [topic] });
      const isGone = async () => !(await admin.listTopics()).includes(topic);
      await eventually('the topic is gone', isGone);
      const config = { ...TOPIC_CONFIG, 'min.insync.replicas': '1', ...settings };
      const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }));
      const replicaAssignment = replicas.map((ids, partition) => ({ partition, replicas: ids }));
      await admin.createTopics({
        waitForLeaders: false,
        topics: [{ topic, replicaAssignment, configEntries }],
      });
      const isKnown = () => succeeds(partitionsOf(topic));
      await eventually('every partition has a leader', isKnown, READY_MS);
    },
  };
}

async function untilReady(kafka: kafkajs.Kafka, size: number, coordinates: boolean): Promise<void> {
  await eventually(
    `${size} brokers have come`,
    async () => {
      const admin = kafka.admin({ retry: { retries: 0 } });
      const ask = async () => {
        await admin.connect();
        // Creates the offsets topic now: the first consumer would fail without it.
        if (coordinates) await admin.describeGroups(['readiness']);
        return (await admin.describeCluster()).brokers.length === size;
      };
      const isReady = await ask().catch(() => false);
      await admin.disconnect().catch(() => undefined);
      return isReady;
    },
    READY_MS,
  );
}
