import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '#shared/config.ts';
import { describeError } from '#shared/errors.ts';
import { createKafka, createTopics } from '#shared/kafka/client.ts';
import { createLogger } from '#shared/logging.ts';
import { useFolder } from '#test/folder.ts';
import { makeClientFiles } from '#test/certificates.ts';
import { PASSWORD, type SecureBroker, startSecureBroker, USER } from './kafka.ts';

const OTHERS = { MONGODB_URI: 'mongodb://127.0.0.1', REDIS_URL: 'redis://127.0.0.1' };

describe('Kafka by TLS', () => {
  const folder = useFolder();
  let broker: SecureBroker;
  let files: Awaited<ReturnType<typeof makeClientFiles>>['files'];
  let tokens: Server;
  beforeAll(async () => {
    const made = await makeClientFiles(folder, PASSWORD);
    files = made.files;
    tokens = createServer(answerWithToken);
    tokens.listen(0, '127.0.0.1');
    await once(tokens, 'listening');
    broker = await startSecureBroker(made.authority);
  });
  afterAll(async () => {
    await broker?.close();
    tokens?.close();
  });

  /** What a client with these settings meets: topics, or the reason why not. */
  async function meet(env: Record<string, string>): Promise<string[] | string> {
    const config = readConfig({ ...OTHERS, KAFKA_TLS: 'true', KAFKA_TLS_CA_FILE: files.ca, ...env });
    const admin = createKafka(config, 'secure', createLogger('test', 'silent')).admin({
      retry: { retries: 0 },
    });
    try {
      await admin.connect();
      await createTopics(admin, ['secured'], { partitions: 1 });
      return await admin.listTopics();
    } catch (error) {
      return describeError(error);
    } finally {
      await admin.disconnect();
    }
  }
  const password = (mechanism: string, more: Record<string, string> = {}) =>
    meet({
      KAFKA_BROKERS: broker.passwords,
      KAFKA_SASL_MECHANISM: mechanism,
      KAFKA_SASL_USERNAME: USER,
      KAFKA_SASL_PASSWORD: PASSWORD,
      ...more,
    });
  const tokenUrl = () => `http://127.0.0.1:${(tokens.address() as AddressInfo).port}/token`;

  it.each(['plain', 'scram-sha-256', 'scram-sha-512'])('takes a password by %s', async (mechanism) => {
    expect(await password(mechanism)).toContain('secured');
  });

  it('takes a token of an OAuth endpoint, and says when there is none', async () => {
    expect(await password('oauthbearer', { KAFKA_SASL_TOKEN_URL: tokenUrl() })).toContain('secured');
    const refused = { KAFKA_SASL_TOKEN_URL: tokenUrl(), KAFKA_SASL_PASSWORD: 'wrong' };
    expect(await password('oauthbearer', refused)).toMatch(/no token for Kafka: its endpoint answered 401/);
  });

  it('takes a certificate', async () => {
    const certificate = { KAFKA_TLS_CERT_FILE: files.cert, KAFKA_TLS_KEY_FILE: files.key };
    expect(await meet({ KAFKA_BROKERS: broker.certificates, ...certificate })).toContain('secured');
  });

  it.each([
    ['a wrong password', () => password('plain', { KAFKA_SASL_PASSWORD: 'wrong' }), /invalid username or password/i],
    [
      'an authority that does not vouch for the broker',
      () => password('plain', { KAFKA_TLS_CA_FILE: files.otherCa }),
      /certificate/i,
    ],
    [
      'an expired certificate',
      () =>
        meet({
          KAFKA_BROKERS: broker.certificates,
          KAFKA_TLS_CERT_FILE: files.expiredCert,
          KAFKA_TLS_KEY_FILE: files.expiredKey,
        }),
      /certificate/i,
    ],
    ['no certificate', () => meet({ KAFKA_BROKERS: broker.certificates }), /certificate/i],
    [
      'a file that is not there',
      () =>
        Promise.resolve()
          .then(() => meet({ KAFKA_BROKERS: broker.passwords, KAFKA_TLS_CA_FILE: '/none.pem' }))
          .catch(describeError),
      /\/none\.pem, which a setting names, cannot be read: ENOENT/,
    ],
  ])('tells %s', async (_case, meeting, told) => {
    expect(await meeting()).toMatch(told);
  });
});

/** A token endpoint whose tokens are signed by nobody, which the broker of this test takes. */
const answerWithToken = (request: IncomingMessage, response: ServerResponse) => {
  const credentials = Buffer.from(String(request.headers.authorization).replace('Basic ', ''), 'base64');
  if (credentials.toString() !== `${USER}:${PASSWORD}`) {
    response.writeHead(401).end();
    return;
  }
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const now = Math.floor(Date.now() / 1_000);
  const claims = { sub: USER, iat: now, exp: now + 600, scope: 'kafka' };
  const token = `${encode({ alg: 'none' })}.${encode(claims)}.`;
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: 600 }));
};
