// The broker's settings: the same for the program and for the container.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClusterMember } from '../part.ts';

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

/** As a server.properties file. */
export function asProperties(settings: Record<string, string>): string {
  return Object.entries(settings)
    .map(([key, value]) => `${key}=${value}\n`)
    .join('');
}

/** As the environment of the apache/kafka image, where `a.b` is `KAFKA_A_B`. */
export function asImageEnvironment(settings: Record<string, string>): Record<string, string> {
  const entries = Object.entries(settings);
  return Object.fromEntries(
    entries.map(([key, value]) => [`KAFKA_${key.toUpperCase().replaceAll('.', '_')}`, value]),
  );
}
