import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { times } from '#test/times.ts';
import { runJson } from '../services/admin/run-command.ts';
import { note } from './results.ts';
import { type Fleet, startFleet, statusOf } from './scaled-out/fleet.ts';
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

  const nothingFailed = () => expect(fleet.integrations.takeFailures()).toEqual([]);

  it('count a shared quota exactly', async () => {
    const { proxy, trial } = fleet;
    const [key] = await fleet.giveKeys(['limited']);
    const quota = `quota set -s limited -e ${trial.disturbed} --requests ${QUOTA} --window 3600`;
    await runJson(trial.installation.env, quota);
    const statuses: number[] = [];
    const ask = async () => {
      for (let count = 0; count < (QUOTA + BEYOND) / 20; count += 1)
        statuses.push(await statusOf(proxy.url, key?.token ?? ''));
    };
    await Promise.all(times(20, ask));
    expect(statuses.filter((status) => status === 200)).toHaveLength(QUOTA);
    expect(statuses.filter((status) => status === 429)).toHaveLength(BEYOND);
    nothingFailed();
  });

  it('all refuse a revoked key at the next request', async () => {
    for (const key of await fleet.giveKeys(times(REVOKED, (index) => `s${index}`))) {
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
    expect(failures.filter(({ began, isLost }) => began > killedAt || isLost)).toEqual([]);
    for (const { token } of revoked) expect(await fleet.askEach(token)).toEqual([401, 401, 401]);
    note(
      `a query service of three is killed: ${failures.length} attempts failed, all its own`,
      failures.map(({ ended }) => ended - killedAt),
      0,
      fleet.integrations.answered(),
    );
  });

  it('have lost no event', async () => {
    await fleet.integrations.stop();
    await fleet.trial.conclude([]);
  });
});
