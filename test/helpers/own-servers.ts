/** A query service with two environments: one on the installation's servers, one with its own Kafka and MongoDB. */
import { type KafkaCluster, startKafkaCluster } from '../faults/servers/kafka-cluster.ts';
import { type ReplicaSet, startReplicaSet } from '../faults/servers/replica-set.ts';
import type { Answer } from './api-client.ts';
import { ORDER, orderEvent } from './events.ts';
import { eventually } from './installation.ts';
import { type QueryService, startQueryService, type TestChange } from './query-service.ts';

export interface OwnServers {
  service: QueryService;
  kafka: KafkaCluster;
  mongodb: ReplicaSet;
  /** The environment on the installation's servers. */
  common: string;
  /** The environment with its own servers. */
  own: string;
  /** Creates a key with all scopes, whose token the requests below use. */
  enter: (environment: string, clientId: string) => Promise<void>;
  /** Publishes an order to the environment with its own servers, without waiting until it is applied. */
  publish: (id: string, storeId?: string) => Promise<void>;
  /** Requests the orders of the store `s1`. */
  ask: (environment: string) => Promise<Answer>;
  /** Waits until the answer has exactly these ids. */
  answers: (environment: string, ids: string[]) => Promise<void>;
  close: () => Promise<void>;
}

export const order = (id: string): TestChange => ({ entity: 'order', storeId: 's1', id, data: ORDER });

/** Starts everything; `settings` are environment variables of the installation. */
export async function startOwnServers(settings: Record<string, string> = {}): Promise<OwnServers> {
  const [kafka, mongodb] = await Promise.all([startKafkaCluster(1), startReplicaSet(1)]);
  const closeServers = () => Promise.all([kafka.close(), mongodb.close()]);
  const service = await startQueryService({
    environments: 2,
    own: [{}, { KAFKA_BROKERS: kafka.brokers, MONGODB_URI: mongodb.uri }],
    settings,
  }).catch(async (error: unknown) => {
    await closeServers();
    throw error;
  });
  const { installation, api } = service;
  const [common = '', own = ''] = installation.config.environments;
  const tokens = new Map<string, string>();
  const ask = (environment: string) => api.get('/api/order/list', tokens.get(environment) ?? '');
  const enter = async (environment: string, clientId: string) => {
    tokens.set(environment, await service.tokenOf({ clientId, environment }));
  };
  for (const environment of [common, own]) await enter(environment, `of-${environment}`);
  return {
    service,
    kafka,
    mongodb,
    common,
    own,
    enter,
    ask,
    publish: (subject, storeId = 's1') => installation.publish([orderEvent(subject, { storeId })], own),
    answers: (environment, ids) =>
      eventually(`${environment} answers ${ids.join(', ')}`, async () => {
        const { status, json } = await ask(environment);
        if (status !== 200) return false;
        const { results } = json as { results: { id: string }[] };
        const found = results.map(({ id }) => id).toSorted();
        return found.join() === ids.join();
      }),
    async close() {
      await service.close();
      await closeServers();
    },
  };
}
