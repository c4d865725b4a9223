import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runJson } from '../services/admin/run-command.ts';
import { note } from './results.ts';
import { type Fleet, startFleet } from './scaled-out/fleet.ts';
import type { GivenKey } from './scaled-out/integrations.ts';

const QUOTA = 300;
const BEYOND = 60;
const REVOKED = 6;
/** Far longer than any step takes on a busy machine. */
const LIMIT_MS = 600_000;

describe('three query services behind HAProxy and three projectors, on clusters, under load', () => {
  let fleet: Fleet;
  /** Tokens of revoked keys. */
  const revoked: GivenKey[] = [];
  beforeAll(async () => {
    fleet = await startFleet({});
  }, LIMIT_MS);
  afterAll(() => fleet?.close(), LIMIT_MS);

  const nothingFailed = () => {
    expect(fleet.integrations.takeFailures()).toEqual([]);
    expect(fleet.integrations.takeLost()).toBe(0);
  };

  it('count a shared quota exactly', async () => {
    const { proxy, trial } = fleet;
    const [key] = await fleet.giveKeys(['limited']);
    const quota = `quota set -s limited -e ${trial.disturbed} --requests ${QUOTA} --window 3600`;
    await runJson(trial.installation.env, quota);
    const statuses: number[] = [];
    const asking = Array.from({ length: 20 }, async () => {
      for (let count = 0; count < (QUOTA + BEYOND) / 20; count += 1) {
        const headers = { authorization: `Bearer ${key?.token}` };
        const response = await fetch(`${proxy.url}/api/order/list`, { headers });
        await response.arrayBuffer();
        statuses.push(response.status);
      }
    });
    await Promise.all(asking);
    expect(statuses.filter((status) => status === 200)).toHaveLength(QUOTA);
    expect(statuses.filter((status) => status === 429)).toHaveLength(BEYOND);
    nothingFailed();
  });

  it('all refuse a revoked key at the next request', async () => {
    const stores = Array.from({ length: REVOKED }, (_, index) => `s${index}`);
    for (const key of await fleet.giveKeys(stores)) {
      expect(await fleet.askEach(key.token)).toEqual([200, 200, 200]);
      await fleet.revoke(key);
      expect(await fleet.askEach(key.token)).toEqual([401, 401, 401]);
      revoked.push(key);
    }
    nothingFailed();
  });

  it('lose no request when a fourth joins and one is drained', async () => {
    await fleet.addQuery();
    await fleet.addProjector();
    await fleet.integrations.everyoneIsAnswered();
    await fleet.endQuery('SIGTERM');
    await fleet.endProjector('SIGTERM');
    await fleet.integrations.everyoneIsAnswered();
    nothingFailed();
  });

  it('lose no request when they are restarted one by one', async () => {
    for (let count = 0; count < 3; count += 1) {
      await fleet.endQuery('SIGTERM');
      await fleet.addQuery();
      await fleet.endProjector('SIGTERM');
      await fleet.addProjector();
      await fleet.integrations.everyoneIsAnswered();
    }
    nothingFailed();
  });

  it('lose only the requests in flight of one that is killed', async () => {
    const killedAt = await fleet.endQuery('SIGKILL');
    await fleet.endProjector('SIGKILL');
    await fleet.addQuery();
    await fleet.addProjector();
    await fleet.integrations.everyoneIsAnswered();
    const failures = fleet.integrations.takeFailures();
    expect(failures.filter(({ began }) => began > killedAt)).toEqual([]);
    expect(fleet.integrations.takeLost()).toBe(0);
    for (const { token } of revoked) expect(await fleet.askEach(token)).toEqual([401, 401, 401]);
    note({
      fault: `a query service of three is killed: ${failures.length} attempts failed, all its own`,
      recoveriesMs: failures.map(({ ended }) => ended - killedAt),
      boundMs: 0,
      events: fleet.integrations.answered(),
    });
  });

  it('have lost no event', async () => {
    await fleet.integrations.stop();
    await fleet.trial.conclude([]);
  });
});
