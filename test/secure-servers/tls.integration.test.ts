/**
 * Each server with TLS: the user that a password, token or certificate authenticates, and the
 * messages of refusals.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '#shared/config.ts';
import { describeError } from '#shared/errors.ts';
import { createKafka, createTopics } from '#shared/kafka/client.ts';
import { createLogger } from '#shared/logging.ts';
import { createReaderClient, createWriterClient } from '#shared/mongodb.ts';
import { createRedis } from '#shared/redis.ts';
import { type Authority, makeAuthority, writeFiles } from '#test/certificates.ts';
import { useFolder } from '#test/folder.ts';
import { useInstallation, useMade } from '#test/hooks.ts';
import { expectRefused, runCommand, runJson } from '../services/admin/run-command.ts';
import * as kafka from './kafka.ts';
import * as mongodb from './mongodb.ts';
import * as redis from './redis.ts';

const folder = useFolder();
let authority: Authority;
/** The server's authority, another one, the client's certificate, and its password. */
let files: Record<'ca' | 'otherCa' | 'cert' | 'key' | 'both' | 'password', string>;
beforeAll(async () => {
  authority = await makeAuthority('authority');
  const { cert: otherCa } = await makeAuthority('other');
  const { cert, key } = await authority.issue('client');
  const both = `${cert}\n${key}`;
  const password = `${mongodb.PASSWORD}\n`;
  files = await writeFiles(folder, { ca: authority.cert, otherCa, cert, key, both, password });
});

const configOf = (env: Record<string, string>) =>
  readConfig({
    KAFKA_BROKERS: '127.0.0.1:1',
    MONGODB_URI: 'mongodb://127.0.0.1',
    REDIS_URL: 'redis://127.0.0.1',
    MONGODB_READ_TIMEOUT_MS: '5000',
    REDIS_COMMAND_TIMEOUT_MS: '5000',
    ...env,
  });

/** What a client has, its settings, and its user or the reason of the refusal. */
type Client = [what: string, env: () => Record<string, string>, answer: RegExp];

describe('Kafka with TLS', () => {
  const broker = useMade(() => kafka.startSecureBroker(authority));
  const tokens = useMade(async () => {
    const server = createServer(answerWithToken);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}/token`, close: async () => void server.close() };
  });

  /** The topics that a client with these settings sees, or the reason of the refusal. */
  async function meet(env: Record<string, string>): Promise<string> {
    try {
      const config = configOf({ KAFKA_TLS: 'true', KAFKA_TLS_CA_FILE: files.ca, ...env });
      const client = createKafka(config, 'secure', createLogger('test', 'silent'));
      const admin = client.admin({ retry: { retries: 0 } });
      try {
        await admin.connect();
        await createTopics(admin, ['secured'], { partitions: 1 });
        return (await admin.listTopics()).join();
      } finally {
        await admin.disconnect();
      }
    } catch (error) {
      return describeError(error);
    }
  }
  const password = (more: Record<string, string> = {}) => ({
    KAFKA_BROKERS: broker.passwords,
    KAFKA_SASL_MECHANISM: 'plain',
    KAFKA_SASL_USERNAME: kafka.USER,
    KAFKA_SASL_PASSWORD: kafka.PASSWORD,
    ...more,
  });
  const token = () =>
    password({ KAFKA_SASL_MECHANISM: 'oauthbearer', KAFKA_SASL_TOKEN_URL: tokens.url });
  const certificate = () => ({
    KAFKA_BROKERS: broker.certificates,
    KAFKA_TLS_CERT_FILE: files.cert,
    KAFKA_TLS_KEY_FILE: files.key,
  });

  it.concurrent.each<Client>([
    ...['plain', 'scram-sha-256', 'scram-sha-512'].map((KAFKA_SASL_MECHANISM): Client => [
      `a password by ${KAFKA_SASL_MECHANISM}`,
      () => password({ KAFKA_SASL_MECHANISM }),
      /\bsecured\b/,
    ]),
    ['a token of an OAuth endpoint', token, /\bsecured\b/],
    ['a certificate', certificate, /\bsecured\b/],
    [
      'a wrong password',
      () => password({ KAFKA_SASL_PASSWORD: 'wrong' }),
      /invalid username or password/i,
    ],
    [
      'no token',
      () => ({ ...token(), KAFKA_SASL_PASSWORD: 'wrong' }),
      /no token for Kafka: its endpoint answered 401/,
    ],
    [
      'an authority of others',
      () => password({ KAFKA_TLS_CA_FILE: files.otherCa }),
      /certificate/i,
    ],
    ['no certificate', () => ({ KAFKA_BROKERS: broker.certificates }), /certificate/i],
    [
      'a file that is not there',
      () => password({ KAFKA_TLS_CA_FILE: '/none.pem' }),
      /\/none\.pem, which a setting names, cannot be read: ENOENT/,
    ],
  ])('is used, or says why not, with %s', async (_what, env, answer) => {
    expect(await meet(env())).toMatch(answer);
  });
});

/** A token endpoint with unsigned tokens, which the broker of this test accepts. */
function answerWithToken(request: IncomingMessage, response: ServerResponse): void {
  const credentials = Buffer.from(
    String(request.headers.authorization).replace('Basic ', ''),
    'base64',
  );
  if (credentials.toString() !== `${kafka.USER}:${kafka.PASSWORD}`) {
    response.writeHead(401).end();
    return;
  }
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const now = Math.floor(Date.now() / 1_000);
  const claims = { sub: kafka.USER, iat: now, exp: now + 600, scope: 'kafka' };
  const token = `${encode({ alg: 'none' })}.${encode(claims)}.`;
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: 600 }));
}

describe('MongoDB with TLS', () => {
  const installation = useInstallation();
  const mongod = useMade(() => mongodb.startSecureMongod(authority, 'O=client,CN=client'));

  /** The user of both clients with these settings, or the reason of the refusal. */
  async function meet({ parameters = '', ...env }: Record<string, string>): Promise<string> {
    const config = configOf({
      MONGODB_URI: `${mongod.uri}${parameters}`,
      MONGODB_TLS_CA_FILE: files.ca,
      ...env,
    });
    let user = '';
    for (const make of [createWriterClient, createReaderClient]) {
      await using client = make(config, 'secure');
      try {
        const status = await client.db('admin').command({ connectionStatus: 1 });
        await client.db('secured').collection<{ _id: number }>('c').findOne({ _id: 1 });
        user = String(status['authInfo'].authenticatedUsers[0]?.user);
      } catch (error) {
        return describeError(error);
      }
    }
    return user;
  }
  const password = (more: Record<string, string>) => ({ MONGODB_USERNAME: mongodb.USER, ...more });

  it.concurrent.each<Client>([
    [
      'a password out of a file',
      () => password({ MONGODB_PASSWORD_FILE: files.password }),
      /^projector$/,
    ],
    [
      'a certificate',
      () => ({
        MONGODB_TLS_CERT_KEY_FILE: files.both,
        parameters: '&authMechanism=MONGODB-X509&authSource=$external',
      }),
      /^O=client,CN=client$/,
    ],
    ['a wrong password', () => password({ MONGODB_PASSWORD: 'wrong' }), /Authentication failed/],
    ['no password', () => ({}), /requires authentication/],
    ['an authority of others', () => ({ MONGODB_TLS_CA_FILE: files.otherCa }), /certificate/],
  ])('is used, or says why not, with %s', async (_what, env, answer) => {
    expect(await meet(env())).toMatch(answer);
  });

  it('has the replica set of a single server made by prepare, and that of several by their operator', async () => {
    await using one = await mongodb.startUninitiatedMongods(authority, 1, {
      authentication: false,
    });
    const { env } = installation;
    const settings = { ...env, MONGODB_URI: one.uri, MONGODB_TLS_CA_FILE: files.ca };
    expect(await runJson(settings, 'prepare')).toMatchObject({ replica_set: true });
    expect(await runJson(settings, 'prepare')).toMatchObject({ replica_set: false });
    const several = one.uri.replace('/?', ',127.0.0.1:1/?').replace(/rs\d/, 'other');
    await expectRefused(
      runCommand({ ...settings, MONGODB_URI: several }, 'prepare'),
      /^store-data: MongoDB cannot be reached at .*127\.0\.0\.1:1.*rs\.initiate/,
    );
  });
});

describe('Redis with TLS', () => {
  const server = useMade(() => redis.startSecureRedis(authority));

  /** The user of a client with these settings, or the reason of the refusal. */
  async function meet(env: Record<string, string>): Promise<string> {
    const config = configOf({
      REDIS_URL: server.url,
      REDIS_TLS_CA_FILE: files.ca,
      REDIS_TLS_CERT_FILE: files.cert,
      REDIS_TLS_KEY_FILE: files.key,
      REDIS_USERNAME: redis.USER,
      REDIS_PASSWORD: redis.PASSWORD,
      ...env,
    });
    const failed = Promise.withResolvers<never>();
    failed.promise.catch(() => undefined);
    const client = createRedis(config, { away: failed.reject });
    try {
      await Promise.race([client.ready(20_000), failed.promise]);
      return String(await client.all()[0]?.redis.call('ACL', 'WHOAMI'));
    } catch (error) {
      return `${describeError(error)}; ${client.refusal()}`;
    } finally {
      client.disconnect();
    }
  }

  it.concurrent.each<Client>([
    [
      'a password out of a file',
      () => ({ REDIS_PASSWORD: '', REDIS_PASSWORD_FILE: files.password }),
      /^query$/,
    ],
    [
      'credentials in the address',
      () => ({ REDIS_URL: server.urlOfUser, REDIS_USERNAME: '', REDIS_PASSWORD: '' }),
      /^query$/,
    ],
    [
      'a wrong password',
      () => ({ REDIS_PASSWORD: 'wrong' }),
      /WRONGPASS.*Correct REDIS_USERNAME, REDIS_PASSWORD/,
    ],
    [
      'no password',
      () => ({ REDIS_PASSWORD: '', REDIS_USERNAME: '' }),
      /NOAUTH.*Correct REDIS_USERNAME/,
    ],
    [
      'an authority of others',
      () => ({ REDIS_TLS_CA_FILE: files.otherCa }),
      /certificate.*Correct REDIS_TLS_CA_FILE/,
    ],
    [
      'no certificate',
      () => ({ REDIS_TLS_CERT_FILE: '', REDIS_TLS_KEY_FILE: '' }),
      /certificate.*REDIS_TLS_CERT_FILE/,
    ],
  ])('is used, or says why not, with %s', async (_what, env, answer) => {
    expect(await meet(env())).toMatch(answer);
  });
});
