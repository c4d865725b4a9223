/** Commands that show stores, keys and sessions. */
import { beforeAll, expect, it } from 'vitest';
import { anOrder, aStore } from '#test/changes.ts';
import { useQueryService } from '#test/hooks.ts';
import { orderLine } from './publish/events.ts';
import { expectRefused, runCommand, runJson } from './run-command.ts';

const service = useQueryService();
let environment: string;
const KEY = 'A'.repeat(24);

beforeAll(async () => {
  ({ environment } = service.installation);

  await service.setKey({ clientId: KEY, storeId: 's1' });
  await service.setKey({ clientId: 'former', storeId: 's1', status: 'inactive' });
  await service.setKey({ clientId: 'early', storeId: 's0' });
  await service.apply([
    aStore('s1', { name: 'Pizzaria Bela' }),
    aStore('s2', { status: 'blocked', name: 'Closed' }),
    anOrder('o1'),
    anOrder('o2'),
    anOrder('o3', {}, 's2'),
  ]);
});

const json = <T>(words: string) => runJson<T>(service.installation.env, words);
const command = (words: string) => runCommand(service.installation.env, words);

const away = (over: Record<string, string>, words: string) =>
  runCommand({ ...service.installation.env, ...over }, words);

it('stores list shows stores with a record, a key or an access status', async () => {
  await json('quota set -s s1 --requests 7');
  const statuses = { access_status: 'active', record_status: 'active' };
  const active = { environment, ...statuses, blocked: false, quota: null };
  const s1 = { store_id: 's1', name: 'Pizzaria Bela', active_keys: 1, keys: 2 };
  const s2 = { store_id: 's2', name: 'Closed', active_keys: 0, keys: 0 };
  expect(await json('stores list')).toEqual([
    { ...active, store_id: 's0', name: null, active_keys: 1, keys: 1 },
    { ...active, ...s1, quota: { requests: 7, window_seconds: null } },
    { ...active, ...s2, blocked: true, record_status: 'blocked' },
  ]);
  const { stdout, stderr } = await command('stores list --limit 2');
  expect(stderr).toBe('there are more than 2: --limit shows more\n');
  expect(stdout).toMatch(/^STORE_ID .* NAME\ns0 .*\ns1 .* Pizzaria Bela\n$/);
});

it('stores show counts only the store’s records, and says why it is blocked', async () => {
  const shown = await json<{ counts: Record<string, number> }>('stores show s1');
  expect(shown).toMatchObject({ store_id: 's1', blocked: false });
  expect(shown.counts).toMatchObject({ orders: 2, customers: 0, option_groups: 0 });
  const { stdout } = await command('stores show s2');
  expect(stdout).toMatch(/^status +blocked by its own record$/m);
  expect(stdout).toMatch(/^orders +1$/m);
  const unblocked = await command('stores unblock s2');
  expect([unblocked.code, unblocked.stdout]).toEqual([
    0,
    expect.stringMatching(/^blocked +true$/m),
  ]);
  expect(unblocked.stderr).toContain('own record is "blocked"');
  const missing = `store-data: there is no store nobody in ${environment}\n`;
  await expectRefused(command('stores show nobody'), missing);
});

it('generations list shows what it can while Kafka is away, and that the lag is unknown', async () => {
  const note = /^note: the lag is unknown: Kafka cannot be reached at 127\.0\.0\.1:1 [^\n]+\n$/;
  const listed = await away({ KAFKA_BROKERS: '127.0.0.1:1' }, 'generations list --json');
  expect([listed.code, listed.stderr]).toEqual([0, expect.stringMatching(note)]);
  expect(JSON.parse(listed.stdout)).toMatchObject({
    generations: [{ state: 'live', lag: null, projectors: null }],
  });
});

it('stores export fails for a store that is not there, and not for one without events', async () => {
  const missing = `store-data: there is no store nobody in ${environment}\n`;
  await expectRefused(command('stores export nobody'), missing);
  const early = await command('stores export s0');
  expect([early.code, early.stderr]).toEqual([0, `0 events of store s0 in ${environment}\n`]);
});

it('publish names and counts outdated events', async () => {
  const line = (id: string, sequence: string) => `${orderLine('s1', id, { sequence })}\n`;
  const input = line('o1', '1') + line('o2', '99') + line('new', '1');
  const { code, stdout, stderr } = await runCommand(service.installation.env, 'publish -', {
    input,
  });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^sent 3, rejected 0, not newer than what is stored 1, took /);
  expect(stderr).toMatch(
    /^line 1: not newer: order o1 of s1 is stored with sequence \d, so 1 changes nothing\n$/,
  );
  const env = { ...service.installation.env, MONGODB_URI: '' };
  const unknown = await runJson(env, 'publish -', line('o1', '1'));
  expect(unknown).toMatchObject({ sent: 1, outdated: null });
});

it('sessions list shows the live sessions of a store until their revocation', async () => {
  await service.api.token(KEY, 'secret');
  await service.api.token(KEY, 'secret');
  await service.api.token('early', 'secret');
  type Session = { session_id: string; client_id: string; seconds_left: number };
  const list = (words: string) => json<Session[]>(`sessions list -s ${words}`);
  const found = await list('s1');
  expect(found.map(({ client_id }) => client_id)).toEqual([KEY, KEY]);
  for (const { seconds_left } of found) expect(seconds_left).toBeGreaterThan(0);
  expect(await list('s1 --client former')).toEqual([]);
  expect(await list('s0')).toMatchObject([{ client_id: 'early' }]);
  const [{ session_id } = { session_id: '' }] = found;
  await json(`sessions revoke ${session_id} -s s1 -e ${environment} --client ${KEY}`);
  expect(await list('s1')).toHaveLength(1);
});

it('keys list and keys show print when a key last got a token, or that it is unknown', async () => {
  type Shown = { client_id: string; last_token_at: string | null };
  const before = Date.now() - 1_000;
  await service.api.token(KEY, 'secret');
  expect((await service.api.askToken('former', 'secret')).status).toBe(400);
  const { last_token_at: at } = await json<Shown>(`keys show ${KEY}`);
  expect(Date.parse(at ?? '')).toBeGreaterThan(before);
  const listed = await json<Shown[]>('keys list');
  expect(listed.find(({ client_id }) => client_id === KEY)?.last_token_at).toBe(at);
  expect(listed.find(({ client_id }) => client_id === 'former')?.last_token_at).toBeNull();
  await expectRefused(command('keys show nobody'), 'store-data: there is no key nobody\n');
  const unknown = await away({ REDIS_URL: 'redis://127.0.0.1:1' }, `keys show ${KEY}`);
  expect([unknown.code, unknown.stdout]).toEqual([0, expect.stringMatching(/^last_token_at +-$/m)]);
  expect(unknown.stderr).toContain('note: the last tokens of keys are unknown: Redis cannot');
});
