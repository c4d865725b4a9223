import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '#shared/config.ts';
import { describeError } from '#shared/errors.ts';
import { createReaderClient, createWriterClient } from '#shared/mongodb.ts';
import { useFolder } from '#test/folder.ts';
import { makeClientFiles } from '#test/certificates.ts';
import { PASSWORD, type SecureMongod, startSecureMongod, USER } from './mongodb.ts';

const OTHERS = {
  KAFKA_BROKERS: '127.0.0.1:1',
  REDIS_URL: 'redis://127.0.0.1',
  MONGODB_READ_TIMEOUT_MS: '5000',
};

describe('MongoDB by TLS', () => {
  const folder = useFolder();
  let mongod: SecureMongod;
  let files: Awaited<ReturnType<typeof makeClientFiles>>['files'];
  beforeAll(async () => {
    const made = await makeClientFiles(folder, PASSWORD);
    files = made.files;
    mongod = await startSecureMongod(made.authority, 'O=client,CN=client');
  });
  afterAll(async () => {
    await mongod?.close();
  });

  /** What both clients with these settings meet: who they are taken for, or the reason why for nobody. */
  async function meet(env: Record<string, string>, parameters = ''): Promise<string> {
    const config = readConfig({
      ...OTHERS,
      MONGODB_URI: `${mongod.uri}${parameters}`,
      MONGODB_TLS_CA_FILE: files.ca,
      ...env,
    });
    let user = '';
    for (const make of [createWriterClient, createReaderClient]) {
      const client = make(config, 'secure');
      try {
        const status = await client.db('admin').command({ connectionStatus: 1 });
        await client.db('secured').collection<{ _id: number }>('c').findOne({ _id: 1 });
        user = String(status['authInfo'].authenticatedUsers[0]?.user);
      } catch (error) {
        return describeError(error);
      } finally {
        await client.close();
      }
    }
    return user;
  }
  const byPassword = { MONGODB_USERNAME: USER, MONGODB_PASSWORD: PASSWORD };
  const BY_CERTIFICATE = '&authMechanism=MONGODB-X509&authSource=$external';

  it('takes a password out of a file', async () => {
    expect(await meet({ MONGODB_USERNAME: USER, MONGODB_PASSWORD_FILE: files.password })).toBe(USER);
  });

  it('takes a certificate', async () => {
    expect(await meet({ MONGODB_TLS_CERT_KEY_FILE: files.both }, BY_CERTIFICATE)).toBe('O=client,CN=client');
  });

  it.each([
    ['a wrong password', () => meet({ ...byPassword, MONGODB_PASSWORD: 'wrong' }), /Authentication failed/],
    ['no password', () => meet({}), /requires authentication/],
    [
      'an authority that does not vouch for the server',
      () => meet({ ...byPassword, MONGODB_TLS_CA_FILE: files.otherCa }),
      /certificate/,
    ],
    [
      'an expired certificate',
      () => meet({ MONGODB_TLS_CERT_KEY_FILE: files.expiredBoth }, BY_CERTIFICATE),
      /certificate|closed|ECONNRESET/i,
    ],
  ])('tells %s', async (_case, meeting, told) => {
    expect(await meeting()).toMatch(told);
  });
});
