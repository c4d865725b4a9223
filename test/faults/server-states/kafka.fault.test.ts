/**
 * The states of Kafka between up and down, one by one, under traffic (docs/reliability.md has the
 * same table).
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { makeAuthority } from '#test/certificates.ts';
import { useFolder } from '#test/folder.ts';
import { eventually } from '#test/eventually.ts';
import {
  PASSWORD,
  type SecureBroker,
  startSecureBroker,
  USER,
} from '../../secure-servers/kafka.ts';
import { type KafkaCluster, startKafkaCluster } from '../servers/kafka-cluster.ts';
import { startTraffic, type State, type Traffic } from './traffic.ts';

const START_MS = 300_000;
const ROW_MS = 300_000;
const BROKERS = [1, 2, 3];
/** Three brokers hold partitions, so that each of them has some alone. */
const PARTITIONS = [0, 1, 2];
const {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  ConfigResourceTypes,
  ResourcePatternTypes,
} = kafkajs;

describe('three brokers', () => {
  const found = {} as { kafka: KafkaCluster; traffic: Traffic };
  beforeAll(async () => {
    found.kafka = await startKafkaCluster(3, {
      settings: {
        'auto.leader.rebalance.enable': 'true',
        'leader.imbalance.check.interval.seconds': '2',
        'leader.imbalance.per.broker.percentage': '0',
      },
    });
    found.traffic = await startTraffic({ KAFKA_BROKERS: found.kafka.brokers });
  }, START_MS);
  afterAll(async () => {
    await found.traffic?.close();
    await found.kafka?.close();
  }, START_MS);

  const pass = (name: string, cause: State['cause'], more: Partial<State> = {}) =>
    it(name, () => found.traffic.passThrough({ name: `Kafka: ${name}`, cause, ...more }), ROW_MS);
  const topics = () => {
    const { environment } = found.traffic.installation;
    return { changes: changesTopic(environment), access: accessTopic(environment) };
  };
  const inSync = async () => {
    for (const topic of Object.values(topics())) await found.kafka.inSync(topic);
  };
  const everyBroker = () =>
    eventually('every broker is there', async () => {
      const { brokers } = await found.kafka.admin.describeCluster();
      return brokers.length === BROKERS.length;
    });
  /** Gives the partitions of a topic other replicas, the first of which is preferred as leader. */
  const reassign = async (topic: string, replicasOf: (partition: number) => number[]) => {
    const partitions = topic === topics().changes ? PARTITIONS : await partitionsOf(topic);
    const partitionAssignment = partitions.map((partition) => ({
      partition,
      replicas: replicasOf(partition),
    }));
    await found.kafka.admin.alterPartitionReassignments({
      topics: [{ topic, partitionAssignment }],
    });
    await eventually('it is moved', async () => {
      const { topics: moving } = await found.kafka.admin.listPartitionReassignments({});
      return moving.length === 0;
    });
  };
  const partitionsOf = async (topic: string) => {
    const { topics: known } = await found.kafka.admin.fetchTopicMetadata({ topics: [topic] });
    return known[0]?.partitions.map(({ partitionId }) => partitionId) ?? [];
  };
  const from = (first: number) => (partition: number) =>
    BROKERS.map((_, index) => ((first + partition + index) % 3) + 1);

  pass('leaders move to other brokers, and back by preference', async () => {
    const leader = await found.kafka.leaderOf(topics().changes, 0);
    await leader.end();
    await leader.start();
    return inSync;
  });

  pass('partitions are reassigned under load', async () => {
    await reassign(topics().changes, from(1));
    await reassign(topics().access, from(2));
    return async () => {
      await reassign(topics().changes, from(0));
      await reassign(topics().access, from(0));
      await inSync();
    };
  });

  pass('the controllers restart, one after the other', async () => {
    for (const server of found.kafka.servers) {
      await server.end();
      await server.start();
      await inSync();
    }
    return () => Promise.resolve();
  });

  const quota = (setting: string) => async () => {
    const alter = (...what: string[]) =>
      found.kafka.runTool(
        'kafka.admin.ConfigCommand',
        '--alter',
        ...what,
        '--entity-type',
        'clients',
        '--entity-default',
      );
    await alter('--add-config', setting);
    return async () => void (await alter('--delete-config', setting.split('=', 1)[0] ?? ''));
  };
  pass('clients may fetch 20,000 bytes a second', quota('consumer_byte_rate=20000'), {
    lastsMs: 10_000,
  });
  pass('clients may use a hundredth of a thread', quota('request_percentage=1'), {
    lastsMs: 10_000,
  });

  pass('the configuration of the topic is changed', async () => {
    const alter = (value: string) =>
      found.kafka.admin.alterConfigs({
        validateOnly: false,
        resources: [
          {
            type: ConfigResourceTypes.TOPIC,
            name: topics().changes,
            configEntries: [
              { name: 'retention.ms', value: '-1' },
              { name: 'max.message.bytes', value: '10485760' },
              { name: 'segment.ms', value },
              { name: 'compression.type', value: 'gzip' },
            ],
          },
        ],
      });
    await alter('1000');
    return async () => void (await alter('604800000'));
  });

  describe('one of which alone has a partition', () => {
    pass('a partition of the changes has no leader', async () => {
      await reassign(topics().changes, (partition) => (partition === 0 ? [3] : BROKERS));
      const [, , third] = found.kafka.servers;
      await third?.end();
      return async () => {
        await third?.start();
        await everyBroker();
        await reassign(topics().changes, from(0));
        await inSync();
      };
    });

    pass('a partition of another topic of the cluster has no leader', async () => {
      await everyBroker();
      await found.kafka.admin.createTopics({
        topics: [{ topic: 'of-others', replicaAssignment: [{ partition: 0, replicas: [3] }] }],
      });
      const [, , third] = found.kafka.servers;
      await third?.end();
      return async () => {
        await third?.start();
        await inSync();
      };
    });
  });
});

describe('a broker with rights', () => {
  const folder = useFolder();
  const found = {} as { broker: SecureBroker; admin: kafkajs.Admin; traffic: Traffic };
  beforeAll(async () => {
    const authority = await makeAuthority('test');
    const ca = join(folder, 'ca.pem');
    await writeFile(ca, authority.cert);
    found.broker = await startSecureBroker(authority, {
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'allow.everyone.if.no.acl.found': 'true',
      'super.users': 'User:ANONYMOUS',
    });
    const { inside, passwords } = found.broker;
    found.admin = new kafkajs.Kafka({
      brokers: [inside],
      logLevel: kafkajs.logLevel.NOTHING,
    }).admin();
    await found.admin.connect();
    found.traffic = await startTraffic(
      { KAFKA_BROKERS: inside },
      {
        KAFKA_BROKERS: passwords,
        KAFKA_TLS: 'true',
        KAFKA_TLS_CA_FILE: ca,
        KAFKA_SASL_MECHANISM: 'plain',
        KAFKA_SASL_USERNAME: USER,
        KAFKA_SASL_PASSWORD: PASSWORD,
      },
    );
  }, START_MS);
  afterAll(async () => {
    await found.traffic?.close();
    await found.admin?.disconnect();
    await found.broker?.close();
  }, START_MS);

  it.each([
    ['the right to read the changes', () => changesTopic(found.traffic.installation.environment)],
    ['the right to read access', () => accessTopic(found.traffic.installation.environment)],
  ])(
    '%s is withdrawn, and given back',
    (what, topic) =>
      found.traffic.passThrough({
        name: `Kafka: ${what} is withdrawn`,
        cause: async () => {
          const rule = {
            resourceName: topic(),
            resourceType: AclResourceTypes.TOPIC,
            resourcePatternType: ResourcePatternTypes.LITERAL,
            principal: `User:${USER}`,
            host: '*',
          };
          const { READ, ALL } = AclOperationTypes;
          const deny = { ...rule, operation: READ, permissionType: AclPermissionTypes.DENY };
          const allow = { ...rule, operation: ALL, permissionType: AclPermissionTypes.ALLOW };
          await found.admin.createAcls({ acl: [allow, deny] });
          return async () => void (await found.admin.deleteAcls({ filters: [deny] }));
        },
      }),
    ROW_MS,
  );
});
