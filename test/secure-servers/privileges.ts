/** The three servers with only the users of deploy/privileges. */
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import kafkajs, { type AclEntry } from 'kafkajs';
import { type Document, MongoClient } from 'mongodb';
import { CLUSTER_BUS, freePorts } from '#local/stack/program.ts';
import { CLUSTER_SETTINGS, formCluster } from '#local/stack/redis/redis.ts';
import { type Authority, makeAuthority, writeFiles } from '#test/certificates.ts';
import { openRedisHome, startRedisProcess } from '#test/redis-process.ts';
import { withAdmin } from '#test/topics.ts';
import { startSecureBroker } from './kafka.ts';
import * as mongod from './mongodb.ts';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, Kafka, ResourcePatternTypes } =
  kafkajs;
const PRIVILEGES = join(import.meta.dirname, '../../deploy/privileges');
const LOGIN = 'org.apache.kafka.common.security';

export const PASSWORD = 'p:ss-w0rd';

export type PrivilegedServer = 'kafka' | 'mongodb' | 'redis';

export interface PrivilegedServers {
  /** Settings to reach the servers, without credentials. */
  env: Record<string, string>;
  /** Replaces a server by an empty one: Kafka at another address, the others at the same one. */
  lose: (server: PrivilegedServer) => Promise<void>;
  close: () => Promise<void>;
}

export interface PrivilegedServersOptions {
  /** Servers of each kind; with three, Redis is a cluster of six. */
  size?: 1 | 3;
  /** The environment of a `redis-server` with TLS; without it Redis runs without TLS. */
  redisWithTls?: NodeJS.ProcessEnv | undefined;
}

export type KafkaUser =
  | 'store-data-administrator'
  | 'store-data-projector'
  | 'store-data-operator'
  | 'store-data-publisher';
export type DataUser = 'store-data-projector' | 'store-data-query';

/** The settings of a Kafka user. */
export function asKafkaUser(name: KafkaUser): Record<string, string> {
  return {
    KAFKA_SASL_MECHANISM: 'plain',
    KAFKA_SASL_USERNAME: name,
    KAFKA_SASL_PASSWORD: PASSWORD,
  };
}

/** The settings of a user of MongoDB and Redis. */
export function asDataUser(name: DataUser): Record<string, string> {
  return {
    MONGODB_USERNAME: name,
    MONGODB_PASSWORD: PASSWORD,
    REDIS_USERNAME: name,
    REDIS_PASSWORD: PASSWORD,
  };
}

/** A running server, and the settings to reach it. */
interface Running {
  env: Record<string, string>;
  /** The ports for a restart at the same address. */
  ports: number[];
  close: () => Promise<void>;
}

interface Workplace {
  authority: Authority;
  folder: string;
  ca: string;
  size: 1 | 3;
  redisWithTls: NodeJS.ProcessEnv | undefined;
}

const STARTS = { kafka: startKafka, mongodb: startMongodb, redis: startRedis };

export async function startPrivilegedServers({
  size = 1,
  redisWithTls,
}: PrivilegedServersOptions = {}): Promise<PrivilegedServers> {
  const folder = await mkdtemp(join(tmpdir(), 'store-data-privileges-'));
  const authority = await makeAuthority('authority');
  const { ca } = await writeFiles(folder, { ca: authority.cert });
  const workplace = { authority, folder, ca, size, redisWithTls };
  const running = new Map<PrivilegedServer, Running>();
  const env: Record<string, string> = {};
  const start = async (name: PrivilegedServer, ports?: number[]) => {
    const started = await STARTS[name](workplace, ports);
    running.set(name, started);
    Object.assign(env, started.env);
  };
  const close = async () => {
    await Promise.all([...running.values()].map((one) => one.close()));
    await rm(folder, { recursive: true, force: true });
  };
  const started = await Promise.allSettled(
    (['kafka', 'mongodb', 'redis'] as const).map((name) => start(name)),
  );
  const failed = started.find(({ status }) => status === 'rejected');
  if (failed !== undefined) {
    await close();
    throw (failed as PromiseRejectedResult).reason;
  }
  return {
    env,
    async lose(name) {
      const lost = running.get(name);
      await lost?.close();
      await start(name, name === 'kafka' ? undefined : lost?.ports);
    },
    close,
  };
}

async function startKafka({ authority, folder, ca, size }: Workplace): Promise<Running> {
  const users = ['administrator', 'projector', 'operator', 'publisher'].map(
    (user) => `user_store-data-${user}="${PASSWORD}"`,
  );
  const broker = await startSecureBroker(
    authority,
    {
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'super.users': 'User:ANONYMOUS;User:store-data-administrator',
      'listener.name.passwords.plain.sasl.jaas.config': `${LOGIN}.plain.PlainLoginModule required ${users.join(' ')};`,
    },
    size,
  );
  const acl = await grantedByScript(folder);
  const inside = new Kafka({
    brokers: broker.inside.split(','),
    logLevel: kafkajs.logLevel.NOTHING,
  });
  await withAdmin(inside, (admin) => admin.createAcls({ acl }));
  const env = { KAFKA_BROKERS: broker.passwords, KAFKA_TLS: 'true', KAFKA_TLS_CA_FILE: ca };
  return { env, ports: [], close: broker.close };
}

/**
 * Runs kafka.sh with a tool that prints its arguments: the broker's jars do not include the real
 * one.
 */
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
  if (valuesOf('--resource-pattern-type')[0] !== 'prefixed')
    throw new Error(`what is prefixed? ${line}`);
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

async function startMongodb(
  { authority, ca, size }: Workplace,
  ports?: number[],
): Promise<Running> {
  const server = await mongod.startSecureMongod(authority, 'CN=nobody', size, ports);
  await makeMongodbUsers(server.uri, ca);
  return {
    env: { MONGODB_URI: server.uri, MONGODB_TLS_CA_FILE: ca },
    ports: server.ports,
    close: server.close,
  };
}

/** Runs mongodb.js like mongosh. @returns the commands that changed something. */
export async function makeMongodbUsers(uri: string, ca: string): Promise<string[]> {
  const auth = { username: mongod.USER, password: mongod.PASSWORD };
  await using client = new MongoClient(uri, { tls: true, tlsCAFile: ca, auth });
  const admin = client.db('admin');
  // mongosh waits for each answer; here the answers are known in advance.
  const { roles } = (await admin.command({ rolesInfo: 1 })) as { roles: { role: string }[] };
  const { users } = (await admin.command({ usersInfo: 1 })) as { users: { user: string }[] };
  const commands: Document[] = [];
  const runCommand = (command: Document): Document => {
    if ('rolesInfo' in command)
      return { roles: roles.filter(({ role }) => role === command['rolesInfo']) };
    if ('usersInfo' in command)
      return { users: users.filter(({ user }) => user === command['usersInfo']) };
    commands.push(command);
    return { ok: 1 };
  };
  runInNewContext(await readFile(join(PRIVILEGES, 'mongodb.js'), 'utf8'), {
    db: { getSiblingDB: () => ({ runCommand }) },
    process: { env: { PROJECTOR_PASSWORD: PASSWORD, QUERY_PASSWORD: PASSWORD } },
  });
  for (const command of commands) await admin.command(command);
  return commands.map((command) => Object.keys(command)[0] ?? '');
}

/**
 * One Redis, or a cluster of three masters with a replica each; with TLS if the program supports
 * it.
 */
async function startRedis(workplace: Workplace, ports?: number[]): Promise<Running> {
  const { authority, folder, ca, size, redisWithTls } = workplace;
  const cleanup = new AsyncDisposableStack();
  const isSecure = redisWithTls !== undefined;
  const issued = await authority.issue('redis');
  const files = await writeFiles(folder, { 'redis.crt': issued.cert, 'redis.key': issued.key });
  const used = ports ?? (await freePorts(size === 1 ? 1 : 6, size === 1 ? undefined : CLUSTER_BUS));
  const home = await openRedisHome(redisWithTls);
  cleanup.defer(() => home.close());
  try {
    const tls = (port: number) =>
      `--port 0 --tls-port ${port} --tls-auth-clients no --tls-replication yes --tls-cluster ${size === 1 ? 'no' : 'yes'}`
        .split(' ')
        .concat(
          '--tls-cert-file',
          files['redis.crt'],
          '--tls-key-file',
          files['redis.key'],
          '--tls-ca-cert-file',
          ca,
        );
    const { username, password } = ADMINISTRATOR;
    const options = { ...ADMINISTRATOR, ...(isSecure ? { tls: { ca: authority.cert } } : {}) };
    const settings = [
      '--aclfile',
      await writeRedisUsers(folder),
      '--masteruser',
      username,
      '--masterauth',
      password,
    ];
    const cluster = size === 1 ? [] : CLUSTER_SETTINGS;
    for (const port of used) {
      const own = [...settings, ...cluster, ...(isSecure ? tls(port) : [])];
      const redis = await startRedisProcess(own, { home, port, client: options });
      cleanup.defer(() => redis.close());
    }
    if (size === 3) await formCluster(used, new AbortController().signal, options);
  } catch (error) {
    await cleanup.disposeAsync();
    throw error;
  }
  const scheme = `redis${isSecure ? 's' : ''}${size === 1 ? '' : '+cluster'}`;
  const hosts = used.slice(0, 2).map((port) => `127.0.0.1:${port}`);
  const env = {
    REDIS_URL: `${scheme}://${hosts.join(',')}`,
    ...(isSecure ? { REDIS_TLS_CA_FILE: ca } : {}),
  };
  return { env, ports: used, close: () => cleanup.disposeAsync() };
}

const ADMINISTRATOR = { username: 'store-data-administrator', password: PASSWORD };

/** Writes the lines of redis.acl and an administrator's. @returns the file. */
async function writeRedisUsers(folder: string): Promise<string> {
  const acl = await readFile(join(PRIVILEGES, 'redis.acl'), 'utf8');
  const lines = acl.replaceAll(/>\w+_PASSWORD/g, `>${PASSWORD}`).trim();
  const file = join(folder, 'redis.acl');
  await writeFile(file, `${lines}\nuser ${ADMINISTRATOR.username} on >${PASSWORD} ~* &* +@all\n`);
  return file;
}
