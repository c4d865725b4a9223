/** The circuit breaker of MongoDB: which late reads say that it is away. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { connectMongodb } from '#query/connections.ts';
import { createMetrics } from '#query/metrics.ts';
import { readConfig } from '#shared/config.ts';
import { createLogger } from '#shared/logging.ts';
import { useInstallation, useMade } from '#test/hooks.ts';
import { times } from '#test/times.ts';
import { startMongodbProxy } from '#test/server-proxies.ts';

const installation = useInstallation();
const proxy = useMade(() => startMongodbProxy(installation.mongodb));

async function connected(readTimeoutMs: number) {
  const metrics = createMetrics();
  const mongodb = await connectMongodb({
    config: readConfig({
      ...installation.env,
      MONGODB_URI: proxy.uri,
      MONGODB_READ_TIMEOUT_MS: String(readTimeoutMs),
    }),
    metrics,
    logger: createLogger('query', 'silent'),
  });
  const ping = () => mongodb.databases.control.command({ ping: 1 });
  const isAway = async () =>
    (await metrics.mongodbAway.get()).values.some(({ value }) => value === 1);
  const close = async () => {
    await proxy.restore();
    await mongodb.close();
  };
  return { ...mongodb, ping, isAway, [Symbol.asyncDispose]: close };
}

const never = () => new Promise<never>(() => undefined);

it('a late read opens nothing while MongoDB answers others, and many do not either', async () => {
  // A ping has half the time of a read: with this delay of each answer it is late, and a read is
  // not.
  const timeoutMs = 3_000;
  const delayMs = 2_000;
  await using mongodb = await connected(timeoutMs);
  const { readDeadline, ping } = mongodb;
  // Opens the connections: the first command of a new one would be late.
  await Promise.all(times(8, () => readDeadline(ping)));
  proxy.slowDown(delayMs);
  const late = Promise.allSettled(times(3, () => readDeadline(never)));
  const end = performance.now() + timeoutMs * 2;
  const answered = times(4, async (index) => {
    await pause((index * delayMs) / 4);
    while (performance.now() < end) expect(await readDeadline(ping)).toMatchObject({ ok: 1 });
  });
  await Promise.all(answered);
  await late;
  expect(await mongodb.isAway()).toBe(false);
});

it('a read that runs alone may take longer than others, and ends with MongoDB', async () => {
  const timeoutMs = 200;
  await using mongodb = await connected(timeoutMs);
  const { longDeadline, ping } = mongodb;
  await longDeadline(() => pause(timeoutMs * 5));
  await longDeadline(ping);
  proxy.freeze();
  await expect(longDeadline(never)).rejects.toThrow('MongoDB is away');
});

it('waits for slots neither prove that MongoDB answers nor outlast its absence', async () => {
  await using mongodb = await connected(200);
  const { readDeadline, slotDeadline, ping, isAway } = mongodb;
  await readDeadline(ping);
  proxy.freeze();
  const waiting = expect(slotDeadline(never)).rejects.toThrow('MongoDB is away');
  const reading = expect(readDeadline(ping)).rejects.toThrow('MongoDB');
  while (!(await isAway())) await Promise.allSettled([slotDeadline(() => pause(1))]);
  await Promise.all([waiting, reading]);
  await expect(slotDeadline(never)).rejects.toThrow('MongoDB is away');
});
