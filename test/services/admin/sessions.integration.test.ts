import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { eventually } from '#test/eventually.ts';
import { useQueryService } from '#test/hooks.ts';
import { expectRefused, runCommand } from './run-command.ts';

describe('sessions revoke', () => {
  const service = useQueryService();

  const run = (words: string, input = '') =>
    runCommand(service.installation.env, `sessions revoke ${words}`, { input });
  const revoked = (id: string) => service.control.revokedSessions.findOne({ _id: id });
  const byId = (id: string, store = 's1') =>
    run(`${id} --store ${store} -e ${service.installation.environment} --client key-s1 --json`);
  const inRedis = (id: string) => service.inRedis('s1').session(id);
  const isLive = async (id: string) => (await service.installation.redis.exists(inRedis(id))) === 1;

  async function session(): Promise<{ id: string; token: string }> {
    await service.tokenFor('s1');
    const token = await service.api.token('key-s1', 'secret');
    return { token, id: String(decodeJwt(token).jti) };
  }

  it('ends the session of a token from standard input', async () => {
    const { id, token } = await session();
    const { code, stdout, stderr } = await run('--token', `${token}\n`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/client_id +key-s1\nwas_live +true\nrevoked_before +false\n$/);
    expect(await isLive(id)).toBe(false);
    expect(await revoked(id)).toMatchObject({
      store_id: 's1',
      client_id: 'key-s1',
      expires_at: new Date((decodeJwt(token).exp ?? 0) * 1_000),
    });
    const again = await run('--token', token);
    expect([again.code, again.stdout]).toEqual([0, expect.stringMatching(/revoked_before +true/)]);
  });

  it('succeeds if a service ended the session first, as each does within a second', async () => {
    const { id } = await session();
    const ending = eventually('a service ends it', async () => {
      if ((await revoked(id)) === null) return false;
      await service.installation.redis.del(inRedis(id));
      return true;
    });
    const { code, stdout, stderr } = await byId(id);
    await ending;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ was_live: true });
  });

  it('fails if there is no such session, but records the revocation', async () => {
    const { id } = await session();
    const { code, stdout, stderr } = await byId(id, 'other');
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ was_live: false, revoked_before: false });
    expect(stderr).toMatch(/no such session was live for store other in /);
    expect(await revoked(id)).not.toBeNull();
    expect(await isLive(id)).toBe(true);
  });

  it('refuses anything that is not a token', async () => {
    await expectRefused(
      run('--token', 'eyJhbGciOiJub25lIn0.e30.'),
      'standard input is not an access token of this installation',
    );
  });
});
