/** The three servers with the users that deploy/privileges gives them, and nobody else. */
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import kafkajs, { type AclEntry } from 'kafkajs';
import { type Document, MongoClient } from 'mongodb';
import { type Authority, makeAuthority, writeFiles } from '#test/certificates.ts';
import { startRedisProcess } from '#test/redis-process.ts';
import { startSecureBroker } from './kafka.ts';
import * as mongod from './mongodb.ts';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, Kafka, ResourcePatternTypes } = kafkajs;
const PRIVILEGES = join(import.meta.dirname, '../../deploy/privileges');
const LOGIN = 'org.apache.kafka.common.security';

/** Of every user here. */
export const PASSWORD = 'p:ss-w0rd';

export interface PrivilegedServers {
  /** What every process needs to reach them, without saying who it is. */
  env: Record<string, string>;
  /** Makes topics, as an administrator does. */
  makeTopics: (topics: string[]) => Promise<void>;
  close: () => Promise<void>;
}

export type KafkaUser = 'store-data-projector' | 'store-data-operator' | 'store-data-publisher';
export type DataUser = 'store-data-projector' | 'store-data-query';

/** The settings by which a process is a user of Kafka. */
export function asKafkaUser(name: KafkaUser): Record<string, string> {
  return { KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: name, KAFKA_SASL_PASSWORD: PASSWORD };
}

/** The settings by which a process is a user of MongoDB and Redis. */
export function asDataUser(name: DataUser): Record<string, string> {
  return {
    MONGODB_USERNAME: name,
    MONGODB_PASSWORD: PASSWORD,
    REDIS_USERNAME: name,
    REDIS_PASSWORD: PASSWORD,
  };
}

/** Starts all three. */
export async function startPrivilegedServers(): Promise<PrivilegedServers> {
  const cleanup = new AsyncDisposableStack();
  try {
    const folder = await mkdtemp(join(tmpdir(), 'store-data-privileges-'));
    cleanup.defer(() => rm(folder, { recursive: true, force: true }));
    const authority = await makeAuthority('authority');
    const { ca } = await writeFiles(folder, { ca: authority.cert });
    const [kafka, mongodbUri, redisUrl] = await Promise.all([
      startKafka(authority, folder, cleanup),
      startMongodb(authority, ca, cleanup),
      startRedis(cleanup),
    ]);
    return {
      env: {
        KAFKA_BROKERS: kafka.passwords,
        KAFKA_TLS: 'true',
        KAFKA_TLS_CA_FILE: ca,
        MONGODB_URI: mongodbUri,
        MONGODB_TLS_CA_FILE: ca,
        REDIS_URL: redisUrl,
      },
      makeTopics: (topics) =>
        asAdministrator(kafka.inside, async (admin) => {
          const configEntries = [{ name: 'retention.ms', value: '-1' }];
          await admin.createTopics({
            topics: topics.map((topic) => ({ topic, numPartitions: 2, configEntries })),
          });
        }),
      close: () => cleanup.disposeAsync(),
    };
  } catch (error) {
    await cleanup.disposeAsync();
    throw error;
  }
}

async function startKafka(authority: Authority, folder: string, cleanup: AsyncDisposableStack) {
  const users = ['projector', 'operator', 'publisher'].map((user) => `user_store-data-${user}="${PASSWORD}"`);
  const broker = await startSecureBroker(authority, {
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': 'User:ANONYMOUS',
    'listener.name.passwords.plain.sasl.jaas.config': `${LOGIN}.plain.PlainLoginModule required ${users.join(' ')};`,
  });
  cleanup.defer(() => broker.close());
  const acl = await grantedByScript(folder);
  await asAdministrator(broker.inside, (admin) => admin.createAcls({ acl }));
  return broker;
}

async function asAdministrator(
  broker: string,
  work: (admin: kafkajs.Admin) => Promise<unknown>,
): Promise<void> {
  const admin = new Kafka({ brokers: [broker], logLevel: kafkajs.logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    await work(admin);
  } finally {
    await admin.disconnect();
  }
}

/** Runs kafka.sh with a tool that tells what it was asked for, since the real one does not come with the broker's jars. */
async function grantedByScript(folder: string): Promise<AclEntry[]> {
  const tool = join(folder, 'kafka-acls.sh');
  await writeFile(tool, '#!/usr/bin/env bash\necho "$@"\n');
  await chmod(tool, 0o755);
  const { stdout } = await promisify(execFile)(join(PRIVILEGES, 'kafka.sh'), {
    env: {
      PATH: `${folder}:${process.env['PATH'] ?? ''}`,
      BOOTSTRAP: 'broker:9092',
      ADMIN_CONFIG: 'admin.properties',
    },
  });
  return stdout.trim().split('\n').flatMap(entriesOf);
}

const OPERATIONS: Record<string, number> = {
  Read: AclOperationTypes.READ,
  Write: AclOperationTypes.WRITE,
  Delete: AclOperationTypes.DELETE,
  Describe: AclOperationTypes.DESCRIBE,
  DescribeConfigs: AclOperationTypes.DESCRIBE_CONFIGS,
};

function entriesOf(line: string): AclEntry[] {
  const words = line.split(' ');
  const valuesOf = (option: string) =>
    words.flatMap((word, at) => (word === option ? [words[at + 1] ?? ''] : []));
  const [topic, group] = [valuesOf('--topic')[0], valuesOf('--group')[0]];
  if (valuesOf('--resource-pattern-type')[0] !== 'prefixed') throw new Error(`what is prefixed? ${line}`);
  return valuesOf('--operation').map((name) => ({
    principal: valuesOf('--allow-principal')[0] ?? '',
    host: '*',
    permissionType: AclPermissionTypes.ALLOW,
    operation: OPERATIONS[name] ?? AclOperationTypes.UNKNOWN,
    resourceType: topic === undefined ? AclResourceTypes.GROUP : AclResourceTypes.TOPIC,
    resourceName: topic ?? group ?? '',
    resourcePatternType: ResourcePatternTypes.PREFIXED,
  }));
}

/** Runs mongodb.js as mongosh would, as far as it is used there. */
async function startMongodb(
  authority: Authority,
  ca: string,
  cleanup: AsyncDisposableStack,
): Promise<string> {
  const server = await mongod.startSecureMongod(authority, 'CN=nobody');
  cleanup.defer(() => server.close());
  const commands: Document[] = [];
  runInNewContext(await readFile(join(PRIVILEGES, 'mongodb.js'), 'utf8'), {
    db: { getSiblingDB: () => ({ runCommand: (command: Document) => commands.push(command) }) },
    process: { env: { PROJECTOR_PASSWORD: PASSWORD, QUERY_PASSWORD: PASSWORD } },
  });
  const auth = { username: mongod.USER, password: mongod.PASSWORD };
  const client = new MongoClient(server.uri, { tls: true, tlsCAFile: ca, auth });
  try {
    for (const command of commands) await client.db('admin').command(command);
  } finally {
    await client.close();
  }
  return server.uri;
}

async function startRedis(cleanup: AsyncDisposableStack): Promise<string> {
  const redis = await startRedisProcess();
  cleanup.defer(() => redis.close());
  const lines = (await readFile(join(PRIVILEGES, 'redis.acl'), 'utf8')).trim().split('\n');
  // The default user last: it is who says so.
  for (const line of lines.toSorted(
    (a, b) => Number(a.includes('default')) - Number(b.includes('default')),
  )) {
    const [, ...words] = line.replaceAll(/>\w+_PASSWORD/g, `>${PASSWORD}`).split(' ');
    await redis.client.call('ACL', 'SETUSER', ...words);
  }
  return redis.url;
}
