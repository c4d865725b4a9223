import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { useInstallation } from '#test/hooks.ts';
import { controlCollections } from '#shared/access/access-keys.ts';
import { redisKeys, newSessionId } from '#shared/access/grants.ts';
import { loadSigningKeys, createTokens } from '#query/access/tokens.ts';
import { expectRefused, runCommand } from './run-command.ts';

describe('sessions revoke', () => {
  const installation = useInstallation();

  const revoked = (id: string) =>
    controlCollections(installation.databases.control).revokedSessions.findOne({ _id: id });
  const byId = (id: string, store = 's1') =>
    `sessions revoke ${id} --store ${store} --environment ${installation.environment} --client client`;

  /** A session as the token endpoint stores it. */
  async function session(): Promise<{ id: string; key: string; token: string }> {
    const { config, environment, redis } = installation;
    const id = newSessionId();
    const key = redisKeys(config.namePrefix, environment, 's1').session(id);
    await redis.set(key, '1', 'EX', 900);
    const keys = await loadSigningKeys(config.tokens);
    const token = await createTokens(keys, config.tokens).issue({
      sessionId: id,
      clientId: 'client',
      storeId: 's1',
      environment,
      scopes: ['order'],
    });
    return { id, key, token };
  }

  it('ends the session of a token from standard input', async () => {
    const { id, key, token } = await session();
    const args = ['sessions', 'revoke', '--token'];
    const { code, stdout, stderr } = await runCommand(installation.env, args, {
      input: `${token}\n`,
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/client_id +client\nwas_live +true\nrevoked_before +false\n$/);
    expect(await installation.redis.exists(key)).toBe(0);
    const record = await revoked(id);
    expect(record).toMatchObject({ store_id: 's1', client_id: 'client' });
    const { iat = 0, exp = 0 } = decodeJwt(token);
    expect(record?.expires_at).toEqual(new Date(exp * 1_000));
    // Both are rounded to seconds in opposite directions.
    expect(exp - iat - 900).toBeOneOf([0, 1]);
    const again = await runCommand(installation.env, args, { input: token });
    expect(again.code).toBe(0);
    expect(again.stdout).toMatch(/revoked_before +true\n/);
  });

  it('succeeds if a service ended the session first, as each does within a second', async () => {
    const { id, key } = await session();
    const { env, redis } = installation;
    const state = { going: true };
    const service = (async () => {
      while (state.going && (await revoked(id)) === null)
        await new Promise((resolve) => setTimeout(resolve, 1));
      await redis.del(key);
    })();
    const { code, stdout, stderr } = await runCommand(env, byId(id));
    state.going = false;
    await service;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/was_live +true\n/);
  });

  it('fails if there is no such session, but records the revocation', async () => {
    const { id, key } = await session();
    const { code, stdout, stderr } = await runCommand(
      installation.env,
      `${byId(id, 'other')} --json`,
    );
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ was_live: false, revoked_before: false });
    expect(stderr).toMatch(/no such session was live for store other in /);
    expect(await revoked(id)).not.toBeNull();
    expect(await installation.redis.exists(key)).toBe(1);
  });

  it('refuses anything that is not a token', async () => {
    const input = 'eyJhbGciOiJub25lIn0.e30.';
    await expectRefused(
      runCommand(installation.env, 'sessions revoke --token', { input }),
      'standard input is not an access token of this installation',
    );
  });
});
