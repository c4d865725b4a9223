/** Keys, stores and sessions: what Redis, the log and MongoDB know of them. */
import { vi } from 'vitest';
import { controlCollections } from '#shared/access/access-keys.ts';
import { keyEvent } from '#test/events.ts';
import { runCommand, runJson } from '../../../services/admin/run-command.ts';
import type { Drill } from '../drill.ts';
import { STORE, type Watched } from '../watched.ts';

/** Runs a command that cannot publish its event. */
const withoutKafka = ({ installation }: Watched, ...args: string[]) =>
  runCommand({ ...installation.env, KAFKA_BROKERS: '127.0.0.1:1' }, args);

async function createKey({ installation: { env, environment } }: Watched): Promise<string> {
  const command = `keys create -s ${STORE} -e ${environment} --scopes order`;
  return (await runJson<{ client_id: string }>(env, command)).client_id;
}

export const ACCESS: readonly Drill[] = [
  {
    name: 'Redis refuses writes, and accepts them again',
    alerts: ['StoreDataAccessPending'],
    async cause({ installation, projector, redis }) {
      await redis.client.config('SET', 'min-replicas-to-write', '1');
      await installation.publishAccess([keyEvent('refused', 1)]);
      return async () => {
        await projector.logged(({ msg }) => msg === 'access cannot be published yet');
        await redis.client.config('SET', 'min-replicas-to-write', '0');
      };
    },
  },
  {
    name: 'a command cannot publish its event, and access republish does',
    alerts: ['StoreDataAccessPending'],
    async cause(watched) {
      await withoutKafka(watched, 'keys', 'revoke', await createKey(watched));
      return () => watched.run('access', 'republish');
    },
  },
  {
    name: 'MongoDB is restored, and Redis has a change that the log lacks; it is repeated',
    alerts: ['StoreDataAccessAhead'],
    async cause(watched) {
      const { installation, projector } = watched;
      const key = await createKey(watched);
      const { keys } = controlCollections(installation.databases.control);
      const published = { _id: key, publish_pending: { $exists: false } };
      const backup = await vi.waitUntil(() => keys.findOne(published), 60_000);
      await withoutKafka(watched, 'keys', 'deactivate', key);
      await projector.kill();
      await keys.replaceOne({ _id: key }, backup);
      await projector.start();
      return async () => {
        await watched.run('keys', 'deactivate', key);
        await watched.run('keys', 'activate', key);
      };
    },
  },
  {
    name: 'Redis is away, and starts again, empty',
    alerts: ['StoreDataRedisGateClosed'],
    async cause({ redis }) {
      await redis.kill();
      return () => redis.start();
    },
  },
  {
    name: 'Redis is emptied while MongoDB hangs, which then answers',
    alerts: ['StoreDataRedisGateClosed'],
    async cause({ mongod, redis }) {
      mongod.freeze();
      await redis.client.flushall();
      return async () => mongod.resume();
    },
  },
];
