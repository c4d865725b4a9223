import { describe, expect, it } from 'vitest';
import { useMade, useQueryService } from '#test/hooks.ts';
import { startApp } from '#test/query-service.ts';
import { expectRefused, runCommand, runJson } from './run-command.ts';

const service = useQueryService();
const others = [1, 2].map(() => useMade(() => startApp(service.installation.config)));

const run = (words: string, over: Record<string, string> = {}) =>
  runCommand({ ...service.installation.env, ...over }, words);
const change = (words: string) => runJson(service.installation.env, words);
const stored = (store_id: string) => service.control.stores.findOne({ store_id });
const inRedis = (store: string) =>
  service.installation.redis.zrange(service.inRedis(store).storeAccess, 0, '-1');

/** The quota headers of one request to each instance, in order. */
async function told(token: string): Promise<[status: number, policy: string, state: string][]> {
  const answers = [];
  for (const { api } of [service, ...others]) answers.push(await api.get('/api/order/list', token));
  return answers.map(({ status, headers }) => [
    status,
    headers.get('ratelimit-policy') ?? '',
    (headers.get('ratelimit') ?? '').replace(/;t=\d+/, ''),
  ]);
}
const statuses = async (token: string) => (await told(token)).map(([status]) => status);
const policies = async (token: string) =>
  new Set((await told(token)).map(([_status, policy]) => policy));

describe('quota set', () => {
  it('applies to the next request of every instance, and keeps the present count', async () => {
    const token = await service.tokenFor('small');
    expect(await statuses(token)).toEqual([200, 200, 200]);
    await change('quota set -s small --requests 5');
    const policy = '"store";q=5;w=60';
    expect(await told(token)).toEqual([
      [200, policy, '"store";r=1'],
      [200, policy, '"store";r=0'],
      [429, policy, '"store";r=0'],
    ]);
    await change('quota set -s small --requests 8');
    expect(await statuses(token)).toEqual([200, 200, 429]);
    // Another window begins at once.
    await change('quota set -s small --requests 2 --window 3600');
    const hourly = '"store";q=2;w=3600';
    expect(await told(token)).toEqual([
      [200, hourly, '"store";r=1'],
      [200, hourly, '"store";r=0'],
      [429, hourly, '"store";r=0'],
    ]);
  });

  it('is loaded from MongoDB if Redis lost it, and never replaced by the configured one', async () => {
    const token = await service.tokenFor('lost');
    await change('quota set -s lost --requests 50 --window 30');
    await told(token);
    await service.installation.redis.del(service.inRedis('lost').storeAccess);
    expect(await policies(token)).toEqual(new Set(['"store";q=50;w=30']));
    expect(await inRedis('lost')).toEqual(['active 50 30']);
  });

  it('does not change the store’s blocking, and a later change of the blocking keeps the quota', async () => {
    await change('stores block both');
    await change('quota set -s both --requests 9');
    expect(await inRedis('both')).toEqual(['blocked 9']);
    await change('stores unblock both');
    expect(await inRedis('both')).toEqual(['active 9']);
  });

  it('writes nothing if Redis is unreachable', async () => {
    const away = { REDIS_URL: 'redis://127.0.0.1:1' };
    const setting = run('quota set -s away --requests 1', away);
    await expectRefused(setting, 'Redis cannot be reached');
    expect(await stored('away')).toBeNull();
  });

  it('changes nothing at the last sequence, and says why', async () => {
    await change('quota set -s last --requests 5');
    const quota_sequence = Number.MAX_SAFE_INTEGER;
    await service.control.stores.updateOne({ store_id: 'last' }, { $set: { quota_sequence } });
    await expectRefused(
      run('quota set -s last --requests 6'),
      'has the last possible sequence: it stays as it is',
    );
    expect((await stored('last'))?.quota).toEqual({ requests: 5 });
  });
});

it('`quota reset` restores the configured quota immediately', async () => {
  const token = await service.tokenFor('back');
  await change('quota set -s back --requests 1');
  expect(await statuses(token)).toEqual([200, 429, 429]);
  const { code, stdout } = await run('quota reset -s back');
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^quota +as configured$/m)]);
  expect(await statuses(token)).toEqual([200, 200, 200]);
  const again = await run('quota reset -s back');
  expect(again.stderr).toContain('note: it was as configured already');
});
