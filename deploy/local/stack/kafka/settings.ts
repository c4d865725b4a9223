// The broker's settings: the same for the program and for the container.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

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

/** One broker that is its own controller, made to start quickly and to accept what tests send. */
export function brokerSettings(listeners: BrokerListeners, dataFolder: string): Record<string, string> {
  const { bind, advertised, port, controllerPort } = listeners;
  return {
    ...Object.fromEntries(FIXED),
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
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
