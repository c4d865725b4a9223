import { MongoClient } from 'mongodb';
import { expect, it } from 'vitest';
import { readConfig } from '#shared/config.ts';
import { PerKafka } from '#shared/kafka/client.ts';
import { Databases } from '#shared/read-models/databases.ts';

const servers = {
  KAFKA_BROKERS: 'k:1',
  MONGODB_URI: 'mongodb://m',
  REDIS_URL: 'redis://r',
  NAME_PREFIX: 'p',
};
const config = readConfig({
  ...servers,
  SANDBOX_KAFKA_BROKERS: 'own:1',
  SANDBOX_MONGODB_URI: 'mongodb://own',
});
const databasesOf = (given: typeof config) =>
  Databases.of(given, ({ mongodb }) => new MongoClient(mongodb.uri, { appName: mongodb.uri }));
const hostOf = ({ options }: MongoClient) => options.hosts[0]?.host;

it('has the generations of an environment on its own MongoDB, and what is common on the installation’s', () => {
  const databases = databasesOf(config);
  expect(databases.clients.map(hostOf)).toEqual(['m', 'own']);
  expect(hostOf(databases.clientOf('production'))).toBe('m');
  const [control, production, sandbox] = [
    databases.control,
    databases.generation('production', 1),
    databases.generation('sandbox', 2),
  ].map(({ databaseName, client }) => [databaseName, hostOf(client)]);
  expect(control).toEqual(['p_control', 'm']);
  expect(production).toEqual(['p_production_g1', 'm']);
  expect(sandbox).toEqual(['p_sandbox_g2', 'own']);
});

it('has the changes of an environment on its own Kafka, and all topics of access on the installation’s', () => {
  const kafkas = new PerKafka(config, ({ kafka }) => kafka.brokers.join());
  expect(kafkas.common).toBe('k:1');
  const topics = ['store-changes.production', 'store-changes.sandbox', 'store-access.sandbox'];
  expect([...kafkas.group(topics)]).toEqual([
    ['k:1', ['store-changes.production', 'store-access.sandbox']],
    ['own:1', ['store-changes.sandbox']],
  ]);
});

it('makes one client of each where no environment has its own', () => {
  const shared = readConfig(servers);
  expect(databasesOf(shared).clients).toHaveLength(1);
  let kafkas = 0;
  const perKafka = new PerKafka(shared, () => (kafkas += 1));
  expect([perKafka.of('store-changes.sandbox'), kafkas]).toEqual([1, 1]);
});
