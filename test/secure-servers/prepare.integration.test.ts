/** `prepare` connects to MongoDB with the same settings as every other command. */
import { beforeAll, describe, expect, it } from 'vitest';
import { useInstallation } from '#test/hooks.ts';
import { useFolder } from '#test/folder.ts';
import { type Authority, makeAuthority, writeFiles } from '#test/certificates.ts';
import { runCommand, runJson } from '../services/admin/run-command.ts';
import { PASSWORD, startSecureMongod, startUninitiatedMongods, USER } from './mongodb.ts';

describe('prepare with TLS', () => {
  const folder = useFolder();
  let ca: string;
  let authority: Authority;
  const installation = useInstallation();
  beforeAll(async () => {
    authority = await makeAuthority('authority');
    ({ ca } = await writeFiles(folder, { ca: authority.cert }));
  });

  const settings = ({ uri }: { uri: string }): Record<string, string> => ({
    ...installation.env,
    MONGODB_URI: uri,
    MONGODB_TLS_CA_FILE: ca,
  });
  const asUser = { MONGODB_USERNAME: USER, MONGODB_PASSWORD: PASSWORD };

  it('connects to a replica set of three as its user', async () => {
    await using mongod = await startSecureMongod(authority, 'CN=nobody', 3);
    const env = { ...settings(mongod), ...asUser };
    expect(await runJson(env, ['prepare'])).toMatchObject({ replica_set: false });
    const wrong = await runCommand({ ...env, MONGODB_PASSWORD: 'wrong' }, ['prepare']);
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringMatching(/Authentication failed/)]);
  });

  it('configures the replica set of a single server, and leaves that of several to their operator', async () => {
    await using one = await startUninitiatedMongods(authority, 1, { authentication: false });
    expect(await runJson(settings(one), ['prepare'])).toMatchObject({ replica_set: true });
    expect(await runJson(settings(one), ['prepare'])).toMatchObject({ replica_set: false });
    const several = { uri: one.uri.replace('/?', ',127.0.0.1:1/?').replace(/rs\d/, 'other') };
    const { code, stderr } = await runCommand(settings(several), ['prepare']);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(
        /^store-data: MongoDB cannot be reached at .*127\.0\.0\.1:1.*rs\.initiate/,
      ),
    ]);
  });
});
