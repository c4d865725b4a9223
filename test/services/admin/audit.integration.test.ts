import { describe, expect, it } from 'vitest';
import { hostname, userInfo } from 'node:os';
import { hashSecret } from '#shared/access/secrets.ts';
import { useQueryService } from '#test/hooks.ts';
import { keyEvent, storeAccessEvent } from '#test/events.ts';
import { eventually } from '#test/eventually.ts';
import { expectRefused, runCommand } from './run-command.ts';

interface Entry {
  at: string;
  actor: string;
  action: string;
  session_id?: string;
  outcome: string;
}

interface Key {
  client_id: string;
  client_secret: string;
}

const service = useQueryService();

const run = (words: string, { actor = 'ana', input = '' } = {}) =>
  runCommand({ ...service.installation.env, STORE_DATA_ACTOR: actor }, words, { input });
const json = async <T>(words: string) => JSON.parse((await run(`${words} --json`)).stdout) as T;
const audit = (words: string) => json<Entry[]>(`audit ${words}`);
const commands = async (words: string) =>
  (await audit(words)).filter(({ action }) => !action.startsWith('event.'));
const control = () => service.installation.databases.control;
/** Runs work while a validator refuses new audit records, like a missing privilege. */
async function withValidator(validator: object, act: () => Promise<void>): Promise<void> {
  await control().command({ collMod: 'audit', validator });
  try {
    await act();
  } finally {
    await control().command({ collMod: 'audit', validator: {} });
  }
}

describe('the audit', () => {
  it('records every change of a key with its actor, without secrets', async () => {
    const { environment } = service.installation;
    const created = await json<Key>('keys create --store s1 --scopes order,menu');
    const { client_id: id, client_secret: secret } = created;
    const token = await service.api.token(id, secret);
    await run(`keys scopes ${id} --set menu --actor bea`);
    const rotated = await json<Key>(`keys rotate-secret ${id}`);
    await run(`keys rotate-secret ${id} --retire-old`);
    await run(`keys deactivate ${id}`);
    await run(`keys activate ${id}`, { actor: '' });
    await run('sessions revoke --token', { input: token });
    await run(`keys revoke ${id}`);

    const entries = await commands(`--client-id ${id}`);
    expect(entries.map(({ actor, action, outcome }) => [actor, action, outcome])).toEqual([
      ['ana', 'keys.create', 'done'],
      ['bea', 'keys.scopes', 'done'],
      ['ana', 'keys.rotate-secret', 'done'],
      ['ana', 'keys.retire-secret', 'done'],
      ['ana', 'keys.deactivate', 'done'],
      [`${userInfo().username}@${hostname()}`, 'keys.activate', 'done'],
      ['ana', 'sessions.revoke', 'done'],
      ['ana', 'keys.revoke', 'done'],
    ]);
    for (const entry of entries)
      expect(entry).toMatchObject({ environment, store_id: 's1', client_id: id });
    expect(entries[1]).toMatchObject({ asked: { scopes: ['menu'] }, result: { status: 'active' } });
    expect(entries[6]?.session_id).toMatch(/^[0-9a-f]{32}$/);

    const everything = JSON.stringify(await control().collection('audit').find().toArray());
    const secrets = [secret, rotated.client_secret];
    for (const value of [token, ...secrets, ...secrets.map(hashSecret)])
      expect(everything).not.toContain(value);
  });

  it('records changes of stores, and filters by store, action and time', async () => {
    await run('stores block s9');
    await run('stores unblock s9');
    await run('quota set -s s9 --requests 5');
    await run('quota reset -s s9');
    const actions = ['stores.block', 'stores.unblock', 'quota.set', 'quota.reset'];
    expect(await commands('--store s9')).toMatchObject(
      actions.map((action) => ({ action, outcome: 'done' })),
    );
    const blocked = await audit('--store s9 --action stores.block --since 1h');
    expect(blocked).toHaveLength(1);
    const after = new Date(Date.parse(blocked[0]?.at ?? '') + 1).toISOString();
    const later = await commands(`--store s9 --since ${after}`);
    expect(later.map(({ action }) => action)).toEqual(actions.slice(1));
    expect((await run('audit --since yesterday')).code).toBe(2);
  });

  it('records changes by events once, in the transaction that applies them', async () => {
    const event = (sequence: number, status: string) => ({
      ...keyEvent('by-event', sequence, { status }),
      storeId: 's2',
    });
    await service.installation.publishAccess([
      event(1, 'active'),
      event(1, 'active'),
      event(2, 'inactive'),
      storeAccessEvent('s2', 7, 'blocked'),
    ]);
    await eventually('they are applied', async () => (await audit('--store s2')).length === 3);
    expect(await audit('--store s2')).toMatchObject([
      {
        actor: '/test',
        action: 'event.access_key',
        client_id: 'by-event',
        result: { status: 'active', scopes: ['order'], secrets: 1, sequence: 1 },
        outcome: 'applied',
      },
      { action: 'event.access_key', result: { status: 'inactive', sequence: 2 } },
      { actor: '/test', action: 'event.store_access', result: { status: 'blocked', sequence: 7 } },
    ]);
  });

  it('records failures', async () => {
    await expectRefused(run('keys revoke nobody'), 'there is no key nobody');
    expect(await audit('--client-id nobody')).toMatchObject([
      { action: 'keys.revoke', outcome: 'failed', result: { reason: 'there is no key nobody' } },
    ]);
  });

  it('is written before the change: if that fails, nothing changes', async () => {
    await service.setKey({ clientId: 'kept' });
    await withValidator({ action: { $ne: 'keys.revoke' } }, async () => {
      await expectRefused(run('keys revoke kept'), '');
      expect((await service.api.askToken('kept', 'secret')).status).toBe(200);
      expect(await commands('--client-id kept')).toEqual([]);
    });
  });

  it('records a change with unknown outcome, and the command reports it', async () => {
    await service.setKey({ clientId: 'half' });
    await withValidator({ phase: { $ne: 'done' } }, async () => {
      const { code, stderr } = await run('keys deactivate half');
      expect(code).toBe(0);
      expect(stderr).toMatch(/^note: the audit lacks the end of this command/m);
    });
    expect((await service.api.askToken('half', 'secret')).status).toBe(400);
    expect(await commands('--client-id half')).toMatchObject([
      { action: 'keys.deactivate', outcome: 'unknown', result: null, ended_at: null },
    ]);
  });

  it('refuses an actor that is empty, too long or has control characters', async () => {
    const { env } = service.installation;
    await expectRefused(runCommand(env, ['--actor', '', 'keys', 'revoke', 'x']), '', 2);
    for (const actor of ['a\nb', 'a\tb', 'x'.repeat(129)])
      await expectRefused(run('keys revoke x', { actor }), '', 2);
  });
});
