import { describe, expect, it } from 'vitest';
import { type AccessKey, controlCollections } from '#shared/access/access-keys.ts';
import { hashSecret } from '#shared/access/secrets.ts';
import { useQueryService } from '#test/hooks.ts';
import { keyEvent } from '#test/events.ts';
import { eventually } from '#test/eventually.ts';
import { expectRefused, runCommand, runJson } from './run-command.ts';

interface RotatedKey {
  client_id: string;
  client_secret?: string;
  old_secret_ends_at?: string | null;
  live: boolean;
}

const service = useQueryService();

const run = (words: string) => runCommand(service.installation.env, `keys ${words}`);
const rotate = (words: string) =>
  runJson<RotatedKey>(service.installation.env, `keys rotate-secret ${words}`);
const stored = (clientId: string): Promise<AccessKey | null> =>
  controlCollections(service.installation.databases.control).keys.findOne({ _id: clientId });
const statusOf = async (clientId: string, secret: string) =>
  (await service.api.askToken(clientId, secret)).status;

async function secretOf(answer: RotatedKey): Promise<string> {
  expect(answer.client_secret).toMatch(/^storedata[A-Za-z0-9]{49}$/);
  return answer.client_secret ?? '';
}

/** Publishes a key event of another source, and waits until it is applied. */
async function event(clientId: string, sequence: number, data: object): Promise<void> {
  await service.installation.publishAccess([keyEvent(clientId, sequence, data)]);
  await eventually(
    'the event is applied',
    async () => (await stored(clientId))?.sequence === sequence,
  );
}

describe('keys rotate-secret', () => {
  it('keeps both secrets valid; --retire-old ends the old one, but not its tokens', async () => {
    const words = 'keys create --store s1 --scopes store,menu';
    const created = await runJson<RotatedKey>(service.installation.env, words);
    const { client_id: id } = created;
    const old = await secretOf(created);
    const rotated = await rotate(id);
    const next = await secretOf(rotated);
    expect(rotated).toMatchObject({ live: true, old_secret_ends_at: null });
    expect(next).not.toBe(old);
    const oldToken = await service.api.token(id, old);
    const newToken = await service.api.token(id, next);

    const retired = await rotate(`${id} --retire-old`);
    expect(retired).not.toHaveProperty('client_secret');
    expect(await statusOf(id, old)).toBe(401);
    expect(await statusOf(id, next)).toBe(200);
    for (const token of [oldToken, newToken]) {
      expect((await service.api.get('/api/category/list', token)).status).toBe(200);
    }
    expect((await stored(id))?.secret_hashes).toEqual([hashSecret(next)]);
  });

  it('retires the older secret in any order in which events list them', async () => {
    await service.setKey({ clientId: 'pos', secrets: ['first'] });
    await event('pos', 100, { secret_sha256: [hashSecret('first'), hashSecret('second')] });
    await rotate('pos --retire-old');
    expect([await statusOf('pos', 'first'), await statusOf('pos', 'second')]).toEqual([401, 200]);
  });

  it('prints the secret even if the change is not active yet', async () => {
    await service.setKey({ clientId: 'late', secrets: ['old'] });
    const secret = await secretOf(await rotate('late --wait 0'));
    await eventually('the secret counts', async () => (await statusOf('late', secret)) === 200);
  });

  it('refuses a third secret, and the retirement of the only one', async () => {
    await service.setKey({ clientId: 'both', secrets: ['a', 'b'] });
    await expectRefused(
      run('rotate-secret both'),
      /^store-data: key both has two secrets already: .*"keys rotate-secret both --retire-old"\n$/,
    );
    await service.setKey({ clientId: 'one', secrets: ['a'] });
    const only = run('rotate-secret one --retire-old');
    await expectRefused(only, /^store-data: key one has no older secret to retire/);
  });

  it('refuses a revoked key, and both options together', async () => {
    await service.setKey({ clientId: 'gone', status: 'revoked' });
    await expectRefused(run('rotate-secret gone'), 'is revoked, which is final');
    await expectRefused(run('rotate-secret x --retire-old --retire-old-after 1h'), '', 2);
  });

  it('ends the old secret at a deadline, even if a later event lists both without one', async () => {
    await service.setKey({ clientId: 'timed', secrets: ['old'] });
    const answer = await rotate('timed --retire-old-after 1h');
    const next = await secretOf(answer);
    expect(Date.parse(answer.old_secret_ends_at ?? '')).toBeGreaterThan(Date.now() + 3_000_000);
    expect([await statusOf('timed', 'old'), await statusOf('timed', next)]).toEqual([200, 200]);
    // The source of the key publishes all of it again, without deadlines.
    await event('timed', 100, {
      secret_sha256: [hashSecret('old'), hashSecret(next)],
      scopes: ['menu'],
    });
    expect(await stored('timed')).toMatchObject({
      scopes: ['menu'],
      secret_hashes: [hashSecret(next), hashSecret('old')],
      secret_expires_at: { [hashSecret('old')]: answer.old_secret_ends_at },
    });
    const secret_expires_at = { [hashSecret('old')]: new Date(Date.now() + 1_500).toISOString() };
    await event('timed', 101, {
      secret_sha256: [hashSecret('old'), hashSecret(next)],
      secret_expires_at,
    });
    await eventually(
      'the old secret has ended',
      async () => (await statusOf('timed', 'old')) === 401,
    );
    expect(await statusOf('timed', next)).toBe(200);
    // An ended secret makes room for another.
    const third = await secretOf(await rotate('timed'));
    expect((await stored('timed'))?.secret_hashes).toEqual([hashSecret(third), hashSecret(next)]);
    expect([await statusOf('timed', 'old'), await statusOf('timed', next)]).toEqual([401, 200]);
  });

  it('publishes the deadline, so that a replay applies it', async () => {
    await event('logged', 1, {
      secret_sha256: [hashSecret('new').toUpperCase(), hashSecret('old')],
      secret_expires_at: { [hashSecret('old')]: '2026-01-01T00:00:00+00:00' },
    });
    expect(await statusOf('logged', 'new')).toBe(200);
    expect(await statusOf('logged', 'old')).toBe(401);
    expect((await stored('logged'))?.secret_expires_at).toEqual({
      [hashSecret('old')]: '2026-01-01T00:00:00.000Z',
    });
    const listed = await runJson<{ client_id: string }[]>(
      service.installation.env,
      'keys list -s s1',
    );
    const logged = listed.find(({ client_id }) => client_id === 'logged');
    expect(logged).toMatchObject({ secrets: 1, old_secret_ends_at: null });
  });
});
