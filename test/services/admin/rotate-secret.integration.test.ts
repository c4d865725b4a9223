import { describe, expect, it } from 'vitest';
import { hashSecret } from '#shared/access/secrets.ts';
import { accessTopic } from '#shared/events/topics.ts';
import { TOPIC_CONFIG } from '#shared/kafka/client.ts';
import { useQueryService } from '#test/hooks.ts';
import { keyEvent } from '#test/events.ts';
import { eventually } from '#test/eventually.ts';
import { readLog } from '#test/read-log.ts';
import { configureTopic } from '#test/topics.ts';
import { expectRefused, runCommand, runJson } from './run-command.ts';

interface RotatedKey {
  client_secret: string;
  old_secret_ends_at: string | null;
}

const service = useQueryService();

const run = (words: string) => runCommand(service.installation.env, `keys rotate-secret ${words}`);
const rotate = (words: string) =>
  runJson<RotatedKey>(service.installation.env, `keys rotate-secret ${words}`);
const stored = (clientId: string) => service.control.keys.findOne({ _id: clientId });
const statusesOf = async (clientId: string, ...secrets: string[]) => {
  const answers = secrets.map((secret) => service.api.askToken(clientId, secret));
  return (await Promise.all(answers)).map(({ status }) => status);
};

/** Publishes a key event of another source, and waits until it is applied. */
async function event(
  clientId: string,
  sequence: number,
  secrets: string[],
  data: object = {},
): Promise<void> {
  const secret_sha256 = secrets.map(hashSecret);
  await service.installation.publishAccess([
    keyEvent(clientId, sequence, { secret_sha256, ...data }),
  ]);
  await eventually(
    'the event is applied',
    async () => (await stored(clientId))?.sequence === sequence,
  );
}

describe('keys rotate-secret', () => {
  it('keeps both secrets valid; --retire-old ends the old one, but not its tokens', async () => {
    const oldToken = await service.tokenOf({ clientId: 'k', secrets: ['old'] });
    const { client_secret: next, old_secret_ends_at } = await rotate('k');
    expect(old_secret_ends_at).toBeNull();
    expect(await statusesOf('k', 'old', next)).toEqual([200, 200]);
    expect(await rotate('k --retire-old')).not.toHaveProperty('client_secret');
    expect(await statusesOf('k', 'old', next)).toEqual([401, 200]);
    expect((await service.api.get('/api/category/list', oldToken)).status).toBe(200);
    expect((await stored('k'))?.secret_hashes).toEqual([hashSecret(next)]);
  });

  it('retires the older secret in any order in which events list them', async () => {
    await service.setKey({ clientId: 'pos', secrets: ['first'] });
    await event('pos', 100, ['first', 'second']);
    await rotate('pos --retire-old');
    expect(await statusesOf('pos', 'first', 'second')).toEqual([401, 200]);
  });

  it('refuses a third secret, the retirement of the only one, a revoked key, and both options', async () => {
    await service.setKey({ clientId: 'both', secrets: ['a', 'b'] });
    await expectRefused(
      run('both'),
      /^store-data: key both has two secrets already: .*"keys rotate-secret both --retire-old"\n$/,
    );
    await service.setKey({ clientId: 'one' });
    await expectRefused(run('one --retire-old'), 'key one has no older secret to retire');
    await service.setKey({ clientId: 'gone', status: 'revoked' });
    await expectRefused(run('gone'), 'is revoked, which is final');
    await expectRefused(run('x --retire-old --retire-old-after 1h'), '', 2);
  });

  it('ends the old secret at a deadline, even if a later event lists both without one', async () => {
    await service.setKey({ clientId: 'timed', secrets: ['old'] });
    const { client_secret: next, old_secret_ends_at } = await rotate('timed --retire-old-after 1h');
    expect(Date.parse(old_secret_ends_at ?? '')).toBeGreaterThan(Date.now() + 3_000_000);
    expect(await statusesOf('timed', 'old', next)).toEqual([200, 200]);
    const { environment } = service.installation;
    const log = await readLog(service.installation, accessTopic(environment));
    const secret_expires_at = { [hashSecret('old')]: old_secret_ends_at };
    expect(JSON.parse(String(log.at(-1)?.value))).toMatchObject({ data: { secret_expires_at } });
    // The source of the key publishes all of it again, without deadlines.
    await event('timed', 100, ['old', next], { scopes: ['menu'] });
    expect(await stored('timed')).toMatchObject({
      scopes: ['menu'],
      secret_hashes: [hashSecret(next), hashSecret('old')],
      secret_expires_at,
    });
    const soon = new Date(Date.now() + 1_500).toISOString();
    await event('timed', 101, ['old', next], { secret_expires_at: { [hashSecret('old')]: soon } });
    await eventually(
      'the old secret has ended',
      async () => (await statusesOf('timed', 'old'))[0] === 401,
    );
    expect(await statusesOf('timed', next)).toEqual([200]);
    const shown = await runJson(service.installation.env, 'keys show timed');
    expect(shown).toMatchObject({ secrets: 1, old_secret_ends_at: null });
    // An ended secret makes room for another.
    const { client_secret: third } = await rotate('timed');
    expect((await stored('timed'))?.secret_hashes).toEqual([third, next].map(hashSecret));
    expect(await statusesOf('timed', 'old', next)).toEqual([401, 200]);
  });

  it('prints the secret even if the log does not take the change', async () => {
    const { environment, kafka } = service.installation;
    await service.setKey({ clientId: 'unlogged' });
    const limit = (bytes: number) => {
      const settings = { ...TOPIC_CONFIG, 'max.message.bytes': String(bytes) };
      return configureTopic(kafka, accessTopic(environment), settings);
    };
    await limit(100);
    const { code, stdout, stderr } = await run('unlogged');
    await limit(1_048_576);
    expect([code, stderr]).toEqual([1, expect.stringContaining('in MongoDB and stays')]);
    const [, secret = ''] = /^client_secret +(\w+)$/m.exec(stdout) ?? [];
    expect(await statusesOf('unlogged', secret)).toEqual([200]);
  });
});
