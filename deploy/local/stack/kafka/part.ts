// Kafka as a part of the stack.
import { Kafka, logLevel } from 'kafkajs';
import type { Admin } from 'kafkajs';
import type { PartDefinition } from '../part.ts';
import { awaitPort, retryUntil } from '../wait.ts';
import { CLUSTER_ID, locateBroker } from './program.ts';
import { JVM_OPTIONS, asImageEnvironment, brokerSettings } from './settings.ts';

const START_LIMIT_MS = 60_000;
const CHECK_LIMIT_MS = 5_000;
/** Inside the container nobody else listens. */
const CONTAINER_DATA = '/var/lib/kafka/data';

/** A broker that is its own controller; as a cluster three, with three copies of which two have to be written. */
export const kafkaPart: PartDefinition = {
  name: 'kafka',
  addressVariable: 'KAFKA_BROKERS',
  imageVariable: 'KAFKA_IMAGE',
  portCount: 2,
  clusterSize: 3,
  locateProgram: (context) => locateBroker(context),

  checkAddress: (address) =>
    withAdmin(address.split(','), CHECK_LIMIT_MS, async (admin) => void (await admin.listTopics())),

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
    await Promise.all(ports.map((port) => awaitPort(host, port, START_LIMIT_MS, signal)));
    const brokers = ports.map((port) => `${host}:${port}`);
    await retryUntil(START_LIMIT_MS, signal, () => withAdmin(brokers, CHECK_LIMIT_MS, serve));
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

async function withAdmin(
  brokers: string[],
  limitMs: number,
  use: (admin: Admin) => Promise<void>,
): Promise<void> {
  const kafka = new Kafka({
    clientId: 'local-stack',
    brokers,
    logLevel: logLevel.NOTHING,
    connectionTimeout: limitMs,
    requestTimeout: limitMs,
    // One try for each of the brokers.
    retry: { retries: brokers.length - 1, initialRetryTime: 50 },
  });
  const admin = kafka.admin();
  try {
    await admin.connect();
    await use(admin);
  } finally {
    await admin.disconnect();
  }
}
