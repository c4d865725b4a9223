/**
 * The states of Kafka between up and down, one by one, under traffic (docs/reliability.md has the
 * same table).
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import kafkajs from 'kafkajs';
import { describe } from 'vitest';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { makeAuthority } from '#test/certificates.ts';
import { useFolder } from '#test/folder.ts';
import { eventually } from '#test/eventually.ts';
import { PASSWORD, startSecureBroker, USER } from '../../secure-servers/kafka.ts';
import { startKafkaCluster } from '../servers/kafka-cluster.ts';
import { useStates } from './traffic.ts';

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
  const { found, row } = useStates('Kafka', async () => {
    const kafka = await startKafkaCluster(3, {
      settings: {
        'auto.leader.rebalance.enable': 'true',
        'leader.imbalance.check.interval.seconds': '2',
        'leader.imbalance.per.broker.percentage': '0',
      },
    });
    return { ...kafka, settings: { KAFKA_BROKERS: kafka.brokers } };
  });
  const topics = () => {
    const { environment } = found.traffic.installation;
    return { changes: changesTopic(environment), access: accessTopic(environment) };
  };
  const inSync = async () => {
    for (const topic of Object.values(topics())) await found.servers.inSync(topic);
  };
  /** Gives the partitions of a topic other replicas, the first of which is preferred as leader. */
  const reassign = async (topic: string, replicasOf: (partition: number) => number[]) => {
    const partitions = topic === topics().changes ? PARTITIONS : await partitionsOf(topic);
    const partitionAssignment = partitions.map((partition) => ({
      partition,
      replicas: replicasOf(partition),
    }));
    await found.servers.admin.alterPartitionReassignments({
      topics: [{ topic, partitionAssignment }],
    });
    await eventually('it is moved', async () => {
      const { topics: moving } = await found.servers.admin.listPartitionReassignments({});
      return moving.length === 0;
    });
  };
  const partitionsOf = async (topic: string) => {
    const { topics: known } = await found.servers.admin.fetchTopicMetadata({ topics: [topic] });
    return known[0]?.partitions.map(({ partitionId }) => partitionId) ?? [];
  };
  const from = (first: number) => (partition: number) =>
    BROKERS.map((_, index) => ((first + partition + index) % 3) + 1);

  row('leaders move to other brokers, and back by preference', async () => {
    const leader = await found.servers.leaderOf(topics().changes, 0);
    await leader.end();
    await leader.start();
    return inSync;
  });

  row('partitions are reassigned under load', async () => {
    await reassign(topics().changes, from(1));
    await reassign(topics().access, from(2));
    return async () => {
      await reassign(topics().changes, from(0));
      await reassign(topics().access, from(0));
      await inSync();
    };
  });

  row('the controllers restart, one after the other', async () => {
    for (const server of found.servers.servers) {
      await server.end();
      await server.start();
      await inSync();
    }
    return () => Promise.resolve();
  });

  const quota = (setting: string) => async () => {
    const alter = (...what: string[]) =>
      found.servers.runTool(
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
  row('clients may fetch 20,000 bytes a second', quota('consumer_byte_rate=20000'), {
    lastsMs: 10_000,
  });
  row('clients may use a hundredth of a thread', quota('request_percentage=1'), {
    lastsMs: 10_000,
  });

  row('the configuration of the topic is changed', async () => {
    const alter = (value: string) =>
      found.servers.admin.alterConfigs({
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

  row('a partition of another topic of the cluster has no leader', async () => {
    await eventually('every broker is there', async () => {
      const { brokers } = await found.servers.admin.describeCluster();
      return brokers.length === BROKERS.length;
    });
    await found.servers.admin.createTopics({
      topics: [{ topic: 'of-others', replicaAssignment: [{ partition: 0, replicas: [3] }] }],
    });
    const [, , third] = found.servers.servers;
    await third?.end();
    return async () => {
      await third?.start();
      await inSync();
    };
  });
});

describe('a broker with rights', () => {
  const folder = useFolder();
  const { found, row } = useStates('Kafka', async () => {
    const authority = await makeAuthority('test');
    const ca = join(folder, 'ca.pem');
    await writeFile(ca, authority.cert);
    const broker = await startSecureBroker(authority, {
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'allow.everyone.if.no.acl.found': 'true',
      'super.users': 'User:ANONYMOUS',
    });
    const { inside, passwords } = broker;
    const { Kafka, logLevel } = kafkajs;
    const admin = new Kafka({ brokers: [inside], logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    return {
      admin,
      settings: { KAFKA_BROKERS: inside },
      ofServices: {
        KAFKA_BROKERS: passwords,
        KAFKA_TLS: 'true',
        KAFKA_TLS_CA_FILE: ca,
        KAFKA_SASL_MECHANISM: 'plain',
        KAFKA_SASL_USERNAME: USER,
        KAFKA_SASL_PASSWORD: PASSWORD,
      },
      async close() {
        await admin.disconnect();
        await broker.close();
      },
    };
  });

  for (const [what, topicOf] of [
    ['the changes', changesTopic],
    ['access', accessTopic],
  ] as const) {
    row(`the right to read ${what} is withdrawn, and given back`, async () => {
      const rule = {
        resourceName: topicOf(found.traffic.installation.environment),
        resourceType: AclResourceTypes.TOPIC,
        resourcePatternType: ResourcePatternTypes.LITERAL,
        principal: `User:${USER}`,
        host: '*',
      };
      const { READ, ALL } = AclOperationTypes;
      const deny = { ...rule, operation: READ, permissionType: AclPermissionTypes.DENY };
      const allow = { ...rule, operation: ALL, permissionType: AclPermissionTypes.ALLOW };
      await found.servers.admin.createAcls({ acl: [allow, deny] });
      return async () => void (await found.servers.admin.deleteAcls({ filters: [deny] }));
    });
  }
});
