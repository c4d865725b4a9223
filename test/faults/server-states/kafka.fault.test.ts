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
import { times } from '#test/times.ts';
import { PASSWORD, startSecureBroker, USER } from '../../secure-servers/kafka.ts';
import { startKafkaCluster } from '../servers/kafka-cluster.ts';
import { useStates } from './traffic.ts';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;

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
  const changes = () => changesTopic(found.traffic.installation.environment);
  const access = () => accessTopic(found.traffic.installation.environment);
  const inSync = async () => {
    for (const topic of [changes(), access()]) await found.servers.inSync(topic);
  };
  /** Gives the partitions other replicas, of which the first is preferred as leader. */
  const reassign = async (ofChanges: number, ofAccess: number) => {
    const { admin, partitionsOf } = found.servers;
    const moved = async (topic: string, first: number) => {
      const partitionAssignment = (await partitionsOf(topic)).map(({ partitionId: partition }) => ({
        partition,
        replicas: times(3, (index) => ((first + partition + index) % 3) + 1),
      }));
      return { topic, partitionAssignment };
    };
    const topics = [await moved(changes(), ofChanges), await moved(access(), ofAccess)];
    await admin.alterPartitionReassignments({ topics });
    await eventually('they are moved', async () => {
      const { topics: moving } = await admin.listPartitionReassignments({});
      return moving.length === 0;
    });
    await inSync();
  };

  row('leaders move to other brokers, and back by preference', async () => {
    const leader = await found.servers.leaderOf(changes(), 0);
    await leader.end();
    await leader.start();
    return inSync;
  });

  row('partitions are reassigned under load', async () => {
    await reassign(1, 2);
    return () => reassign(0, 0);
  });

  row('the controllers restart, one after the other', async () => {
    for (const server of found.servers.servers) {
      await server.end();
      await server.start();
      await inSync();
    }
    return inSync;
  });

  const clients = ['--entity-type', 'clients', '--entity-default'];
  const topic = () => ['--entity-type', 'topics', '--entity-name', changes()];
  /** Changes settings. @returns removes them. */
  const configured = (entity: () => string[], settings: Record<string, string>) => async () => {
    const alter = (...what: string[]) =>
      found.servers.runTool('kafka.admin.ConfigCommand', '--alter', ...what, ...entity());
    const pairs = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
    await alter('--add-config', pairs.join());
    return () => alter('--delete-config', Object.keys(settings).join());
  };
  row(
    'clients may fetch 20,000 bytes a second',
    configured(() => clients, { consumer_byte_rate: '20000' }),
    { lastsMs: 10_000 },
  );
  row(
    'clients may use a hundredth of a thread',
    configured(() => clients, { request_percentage: '1' }),
    { lastsMs: 10_000 },
  );
  row(
    'the configuration of the topic is changed',
    configured(topic, { 'segment.ms': '1000', 'compression.type': 'gzip' }),
  );

  row('a partition of another topic of the cluster has no leader', async () => {
    const { admin } = found.servers;
    await eventually('every broker is there', async () => {
      return (await admin.describeCluster()).brokers.length === 3;
    });
    await admin.createTopics({
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
      return () => found.servers.admin.deleteAcls({ filters: [deny] });
    });
  }
});
