import { beforeAll, describe, expect, it } from 'vitest';
import { hostname, userInfo } from 'node:os';
import { hashSecret } from '#shared/access/secrets.ts';
import { useQueryService } from '#test/hooks.ts';
import { keyEvent, storeAccessEvent } from '#test/events.ts';
import { eventually } from '#test/eventually.ts';
import { expectRefused, runCommand, runJson } from './run-command.ts';

interface Entry {
  at: string;
  actor: string;
  action: string;
  environment?: string;
  store_id?: string;
  client_id?: string;
  session_id?: string;
  asked?: Record<string, unknown>;
  result: Record<string, unknown> | null;
  outcome: string;
  ended_at: string | null;
}

const service = useQueryService();
let env: Record<string, string>;
beforeAll(async () => {
  env = { ...service.installation.env, STORE_DATA_ACTOR: 'ana' };
});

const audit = (words: string) => runJson<Entry[]>(env, `audit ${words}`);
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
    const { client_id: id, client_secret: secret } = await runJson<{
      client_id: string;
      client_secret: string;
    }>(env, 'keys create --store s1 --scopes order,menu');
    const token = await service.api.token(id, secret);
    await runJson(env, ['keys', 'scopes', id, '--set', 'menu', '--actor', 'bea']);
    const rotated = await runJson<{ client_secret: string }>(env, ['keys', 'rotate-secret', id]);
    await runJson(env, ['keys', 'rotate-secret', id, '--retire-old']);
    await runJson(env, ['keys', 'deactivate', id]);
    await runJson({ ...env, STORE_DATA_ACTOR: '' }, ['keys', 'activate', id]);
    const revoked = await runCommand(env, 'sessions revoke --token', { input: token });
    expect(revoked.code, revoked.stderr).toBe(0);
    await runJson(env, ['keys', 'revoke', id]);

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
    for (const value of [secret, rotated.client_secret]) {
      expect(everything).not.toContain(value);
      expect(everything).not.toContain(hashSecret(value));
    }
    expect(everything).not.toContain(token);
  });

  it('records changes of stores, and filters by store, action and time', async () => {
    const words = [
      'stores block s9',
      'stores unblock s9',
      'quota set -s s9 --requests 5',
      'quota reset -s s9',
    ];
    for (const command of words) await runJson(env, command);
    const actions = ['stores.block', 'stores.unblock', 'quota.set', 'quota.reset'];
    expect(await commands('--store s9')).toMatchObject(
      actions.map((action) => ({ action, outcome: 'done' })),
    );
    const blocked = await audit('--store s9 --action stores.block --since 1h');
    expect(blocked).toHaveLength(1);
    const after = new Date(Date.parse(blocked[0]?.at ?? '') + 1).toISOString();
    const later = await commands(`--store s9 --since ${after}`);
    expect(later.map(({ action }) => action)).toEqual(actions.slice(1));
    expect(await audit('--since 2100-01-01T00:00:00Z')).toEqual([]);
    expect((await runCommand(env, 'audit --since yesterday')).code).toBe(2);
  });

  it('records changes by events once, in the transaction that applies them', async () => {
    const event = (sequence: number, status: string) => ({
      ...keyEvent('by-event', sequence, { scopes: ['crm'], status }),
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
        result: { status: 'active', scopes: ['crm'], secrets: 1, sequence: 1 },
        outcome: 'applied',
      },
      { action: 'event.access_key', result: { status: 'inactive', sequence: 2 } },
      { actor: '/test', action: 'event.store_access', result: { status: 'blocked', sequence: 7 } },
    ]);
  });

  it('records failures', async () => {
    await expectRefused(runCommand(env, 'keys revoke nobody'), 'there is no key nobody');
    expect(await audit('--client-id nobody')).toMatchObject([
      { action: 'keys.revoke', outcome: 'failed', result: { reason: 'there is no key nobody' } },
    ]);
  });

  it('is written before the change: if that fails, nothing changes', async () => {
    await service.setKey({ clientId: 'kept' });
    await withValidator({ action: { $ne: 'keys.revoke' } }, async () => {
      const { code, stdout } = await runCommand(env, 'keys revoke kept');
      expect([code, stdout]).toEqual([1, '']);
      expect((await service.api.askToken('kept', 'secret')).status).toBe(200);
      expect(await commands('--client-id kept')).toEqual([]);
    });
  });

  it('records a change with unknown outcome, and the command reports it', async () => {
    await service.setKey({ clientId: 'half' });
    await withValidator({ phase: { $ne: 'done' } }, async () => {
      const result = await runCommand(env, 'keys deactivate half');
      expect(result.code).toBe(0);
      expect(result.stderr).toMatch(/^note: the audit lacks the end of this command/m);
    });
    expect((await service.api.askToken('half', 'secret')).status).toBe(400);
    expect(await commands('--client-id half')).toMatchObject([
      { action: 'keys.deactivate', outcome: 'unknown', result: null, ended_at: null },
    ]);
  });

  it('refuses an actor with line breaks', async () => {
    for (const actor of ['', 'a\nb', 'x'.repeat(129)]) {
      expect((await runCommand(env, ['--actor', actor, 'keys', 'revoke', 'x'])).code).toBe(2);
    }
    expect((await runCommand({ ...env, STORE_DATA_ACTOR: 'a\tb' }, 'keys revoke x')).code).toBe(2);
  });
});
