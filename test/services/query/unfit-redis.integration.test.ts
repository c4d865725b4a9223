/**
 * A Redis that answers but is unfit for decisions: 503 within a second, no request passes, and
 * automatic recovery.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '#shared/logging.ts';
import { useMade } from '#test/hooks.ts';
import { times } from '#test/times.ts';
import { eventually } from '#test/eventually.ts';
import { DEFAULT_TIMEOUTS, quickOnce } from '#test/patience.ts';
import { startAppWith, startQueryService } from '#test/query-service.ts';
import { startRedisProcess } from '#test/redis-process.ts';
import { startService } from '#test/service-process.ts';
import { startTcpProxy } from '#test/tcp-proxy.ts';
import { startProjector } from '../../../services/projector/projector.ts';

const ALLOWED_MS = 1_000;

const garbage: Server[] = [];
afterAll(() => {
  for (const server of garbage) server.close();
});
const own = useMade(startRedisProcess);
const proxy = useMade(() => startTcpProxy({ host: '127.0.0.1', port: own.port }));
const service = useMade(() => startQueryService({ settings: { REDIS_URL: own.url } }));
const proxied = useMade(() => {
  const url = `redis://127.0.0.1:${proxy.port}`;
  return startAppWith(service.installation, { ...DEFAULT_TIMEOUTS, REDIS_URL: url });
});
let token: string;
let refused: string;
beforeAll(async () => {
  service.installation.redis.on('error', () => undefined);
  token = await service.tokenOf({ clientId: 'full' });
  refused = await service.tokenOf({ clientId: 'off' });
  await service.setKey({ clientId: 'off', status: 'inactive' });
  await eventually('requests pass', async () => (await status()) === 200);
});

const status = async (own = token) => (await proxied.api.get('/api/order/list', own)).status;

/** A server that answers everything with these bytes. */
async function startGarbage(bytes: () => Buffer | string) {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', () => socket.write(bytes()));
  }).listen(0, '127.0.0.1');
  garbage.push(server);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function moveTo(port: number) {
  proxy.retarget({ host: '127.0.0.1', port });
  await proxy.cut();
  await proxy.restore();
}

const answersWith = (bytes: () => Buffer | string) => async () => moveTo(await startGarbage(bytes));
const set = (name: string, value: string) => async () =>
  void (await own.client.config('SET', name, value));

const FAULTS: [string, () => Promise<unknown>, () => Promise<unknown>][] = [
  ['slow', async () => proxy.slowDown(600), () => proxy.restore()],
  [
    'a replica',
    () => own.client.replicaof('127.0.0.1', '1'),
    () => own.client.replicaof('NO', 'ONE'),
  ],
  [
    'without its required replicas',
    set('min-replicas-to-write', '1'),
    set('min-replicas-to-write', '0'),
  ],
  ['full', set('maxmemory', '1'), set('maxmemory', '0')],
  ['a server that says OK to everything', answersWith(() => '+OK\r\n'), () => moveTo(own.port)],
  ['a server of random bytes', answersWith(() => randomBytes(64)), () => moveTo(own.port)],
];

it.each(FAULTS)(
  'a Redis that is %s leads to 503 in time, and is used again afterwards',
  async (_what, fail, repair) => {
    await fail();
    try {
      const round = async () => {
        const answers = await Promise.all([
          ...times(5, () => proxied.api.get('/api/order/list', token)),
          proxied.api.askToken('full', 'secret'),
        ]);
        expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([503]));
      };
      await quickOnce('answers without a fit Redis', ALLOWED_MS, round, 3);
      // It decides nothing, not even what takes no write.
      await eventually('it refuses no token', async () => (await status(refused)) === 503);
      expect(await status('x')).toBe(401);
    } finally {
      await repair();
    }
    await eventually('requests pass', async () => (await status()) === 200);
    await eventually('tokens are given', async () => {
      return (await proxied.api.askToken('full', 'secret')).status === 200;
    });
  },
);

describe('Redis that evicts', () => {
  beforeAll(() => set('maxmemory-policy', 'allkeys-lru')());
  afterAll(() => set('maxmemory-policy', 'noeviction')());

  it('is refused at a start with instructions', async () => {
    const { config, env } = service.installation;
    const logger = createLogger('projector', 'silent');
    await expect(startProjector(config, logger)).rejects.toThrow(/noeviction/);
    const started = startService('query', env);
    expect(await started.ended).toMatchObject({ code: 1 });
    const said = started.lines.map(({ msg }) => msg).join();
    expect(said).toMatch(/Redis evicts by "allkeys-lru".*maxmemory-policy/);
  });

  it('does not stop a running service', async () => {
    await eventually('requests pass', async () => (await status()) === 200);
  });
});
