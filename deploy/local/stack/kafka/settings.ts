// The broker's settings: the same for the program and for the container.

export interface BrokerListeners {
  bind: string;
  /** What clients are told to connect to. */
  advertised: string;
  port: number;
  controllerPort: number;
}

const TEN_MEBIBYTES = String(10 * 1024 * 1024);

/** One broker that is its own controller, made to start quickly and to accept what tests send. */
export function brokerSettings(listeners: BrokerListeners, dataFolder: string): Record<string, string> {
  const { bind, advertised, port, controllerPort } = listeners;
  return {
    'process.roles': 'broker,controller',
    'node.id': '1',
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    listeners: `PLAINTEXT://${bind}:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://${advertised}:${port}`,
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
    'log.dirs': dataFolder,
    // A misspelt topic is an error, not a new topic.
    'auto.create.topics.enable': 'false',
    'log.retention.ms': '-1',
    // The broker takes messages that the projector refuses: the refusal is to be tested.
    'message.max.bytes': TEN_MEBIBYTES,
    'replica.fetch.max.bytes': TEN_MEBIBYTES,
    // One broker: no copies, and few partitions of the internal topics, which are created at the first use.
    'offsets.topic.replication.factor': '1',
    'offsets.topic.num.partitions': '4',
    'transaction.state.log.replication.factor': '1',
    'transaction.state.log.min.isr': '1',
    'transaction.state.log.num.partitions': '4',
    // Tests join groups all the time and let consumers die.
    'group.initial.rebalance.delay.ms': '0',
    'group.min.session.timeout.ms': '1000',
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
