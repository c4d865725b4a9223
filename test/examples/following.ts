/** Five example clients follow a store whose orders change adversely, at a quota of 600 requests a minute, while the ground moves. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Model } from '#test/model.ts';
import { eventually } from '#test/installation.ts';
import { type QueryService, startQueryService } from '#test/query-service.ts';
import { startService, type ServiceProcess } from '#test/service-process.ts';
import { runJson } from '../services/admin/run-command.ts';
import { adversarialOrders } from './adversarial-orders.ts';
import { type Follower, makeFollower, preparePython, prepareTypescript, type Program } from './followers.ts';
import { FormerRecipe } from './former-recipe.ts';

const FOLLOWERS = 5;
const STORE = 's1';

/** Declares the test for so many orders. */
export function describeFollowing(orders: number): void {
  /** With a machine that does other things too, and `npm ci` on a slow line. */
  const LIMIT_MS = 300_000 + orders * 20;
  let service: QueryService;
  let folder: string;
  let programs: Program[];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'store-data-followers-'));
    const python = await preparePython().catch((error: unknown) => {
      process.stderr.write(`not tested, the follower in Python: ${String(error)}\n`);
      return null;
    });
    programs = [await prepareTypescript(), ...(python === null ? [] : [python])];
  }, LIMIT_MS);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  describe('five clients that follow a store’s orders as the examples do', () => {
    const followers: Follower[] = [];
    const projectors: ServiceProcess[] = [];
    beforeAll(async () => {
      service = await startQueryService({
        settings: { QUOTA_REQUESTS: '600', KAFKA_SESSION_TIMEOUT_MS: '1500' },
      });
      await service.stopProjector();
    }, LIMIT_MS);
    afterAll(async () => {
      await Promise.all(followers.map((follower) => follower.kill()));
      for (const projector of projectors) projector.kill('SIGKILL');
      await Promise.all(projectors.map(({ ended }) => ended));
      await service?.close();
    });
    const project = () => {
      const projector = startService('projector', service.installation.env);
      projectors.push(projector);
      return projector;
    };

    it(
      'have every order as it was last, and none that was deleted, whatever happened meanwhile; the former recipe has not',
      { timeout: LIMIT_MS },
      async () => {
        const { installation, api } = service;
        const events = adversarialOrders(STORE, orders, 1);
        const model = new Model();
        for (const event of events) model.apply(event);

        let projector = project();
        await service.setKey({ clientId: 'follower', scopes: ['order'] });
        await service.setKey({ clientId: 'poller', scopes: ['order'] });
        const former = new FormerRecipe(api, await api.token('poller', 'secret'));
        for (let index = 0; index < FOLLOWERS; index += 1) {
          const program = programs[index % programs.length];
          if (program === undefined) throw new Error('there is no program');
          const follower = makeFollower(program, {
            BASE_URL: service.url,
            CLIENT_ID: 'follower',
            CLIENT_SECRET: 'secret',
            COPY: join(folder, `orders-${index}.sqlite`),
            QUOTA_SHARE: String(0.8 / FOLLOWERS),
          });
          followers.push(follower);
          follower.start();
        }

        const pieces = 12;
        const length = Math.ceil(events.length / pieces);
        for (let piece = 0; piece < pieces; piece += 1) {
          await installation.publish(events.slice(piece * length, (piece + 1) * length));
          if (piece % 3 === 1) await former.poll();
          if (piece === 3 || piece === 8) {
            projector.kill('SIGKILL');
            await projector.ended;
            projector = project();
          }
          if (piece === 4) await runJson(installation.env, ['rebuild', '--share', '100']);
          if (piece === 6) await runJson(installation.env, ['rollback', '--force']);
          if (piece === 7) {
            const [follower] = followers;
            await follower?.kill();
            await sleep(500);
            follower?.start();
          }
          await sleep(300);
        }

        const expected = new Map(everyOrder(model).map((order) => [String(order['id']), order]));
        expect(expected.size).toBeGreaterThan(orders / 2);
        const whole = (orders: Map<string, unknown>) =>
          JSON.stringify([...orders].toSorted(([a], [b]) => (a < b ? -1 : 1)));
        const wanted = whole(expected);
        await eventually(
          'all have everything',
          async () => {
            await sleep(500);
            return followers.every((follower) => whole(follower.orders()) === wanted);
          },
          LIMIT_MS / 2,
        ).catch((error: unknown) => {
          for (const follower of followers) expect(follower.complaints()).toBe('');
          for (const follower of followers) expect(follower.orders()).toEqual(expected);
          throw error;
        });
        for (const follower of followers) expect(follower.complaints()).toBe('');

        await former.poll();
        expect(whole(former.orders)).not.toBe(wanted);
        const stale = [...expected].filter(
          ([id, order]) => JSON.stringify(former.orders.get(id)) !== JSON.stringify(order),
        );
        const undeleted = [...former.orders.keys()].filter((id) => !expected.has(id));
        expect(stale.length).toBeGreaterThan(0);
        expect(undeleted.length).toBeGreaterThan(0);
      },
    );

    function everyOrder(model: Model): Record<string, unknown>[] {
      const orders: Record<string, unknown>[] = [];
      for (let page = 1; ; page += 1) {
        const { results } = model.orders(STORE, { page, page_size: 100 }, 'anyone');
        if (results.length === 0) return orders;
        orders.push(...results);
      }
    }
  });
}
