/** How the connector is set: to be quick, and as safe as it can be. */

/** What `connect-standalone.sh` and `kafka-run-class.sh` start Java with. */
export const JVM_OPTIONS = [
  '-Xms256M',
  '-Xmx2G',
  '-server',
  '-XX:+UseG1GC',
  '-XX:MaxGCPauseMillis=20',
  '-XX:InitiatingHeapOccupancyPercent=35',
  '-XX:+ExplicitGCInvokesConcurrent',
  '-Djava.awt.headless=true',
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
] as const;

export interface WorkerSettings {
  brokers: string;
  /** A folder with a folder for each plugin. */
  plugins: string;
  offsetsFile: string;
}

/** Of the process. Offsets are committed often, since the benchmark sees by them how far it is. */
export function workerSettings({ brokers, plugins, offsetsFile }: WorkerSettings): Record<string, string> {
  return {
    'bootstrap.servers': brokers,
    'plugin.path': plugins,
    'plugin.discovery': 'only_scan',
    'offset.storage.file.filename': offsetsFile,
    'offset.flush.interval.ms': '100',
    listeners: 'http://127.0.0.1:0',
    'key.converter': 'org.apache.kafka.connect.storage.StringConverter',
    'value.converter': 'org.apache.kafka.connect.json.JsonConverter',
    'value.converter.schemas.enable': 'false',
    'consumer.max.poll.records': '2000',
    'consumer.isolation.level': 'read_committed',
  };
}

export interface SinkSettings {
  name: string;
  topic: string;
  deadLetterTopic: string;
  mongodbUri: string;
  database: string;
  collection: string;
}

/** Of the connector: replaces a document by its `_id`, and keeps what it cannot write in a dead letter topic. */
export function sinkSettings(sink: SinkSettings): Record<string, string> {
  const strategies = 'com.mongodb.kafka.connect.sink';
  return {
    name: sink.name,
    'connector.class': 'com.mongodb.kafka.connect.MongoSinkConnector',
    'tasks.max': '6',
    topics: sink.topic,
    'connection.uri': sink.mongodbUri,
    database: sink.database,
    collection: sink.collection,
    'writemodel.strategy': `${strategies}.writemodel.strategy.ReplaceOneDefaultStrategy`,
    'document.id.strategy': `${strategies}.processor.id.strategy.ProvidedInValueStrategy`,
    'errors.tolerance': 'all',
    'errors.deadletterqueue.topic.name': sink.deadLetterTopic,
    'errors.deadletterqueue.topic.replication.factor': '1',
    'errors.deadletterqueue.context.headers.enable': 'true',
  };
}
