/**
 * Guessing secrets at the token endpoint over real sockets: the limits, and the address to which
 * failures count.
 */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { useQueryService } from '#test/hooks.ts';
import { times } from '#test/times.ts';
import { TOKEN_PATH } from '#test/api-client.ts';
import { eventually } from '#test/eventually.ts';
import { type RunningApp, startApp } from '#test/query-service.ts';

const LIMITS = { windowSeconds: 60, perClientAndAddress: 8, perAddress: 30, perClient: 30 };

const service = useQueryService({ oneRedis: true });
const counts = () =>
  service.installation.redis.keys(`${service.installation.env['NAME_PREFIX']}:{failed:*`);

const running: RunningApp[] = [];
afterEach(async () => {
  for (const { app } of running.splice(0)) await app.close();
  // Failures of one test must not affect the next.
  for (const count of await counts()) await service.installation.redis.del(count);
});

interface Asked {
  /** By default the one of the test. */
  client?: string;
  secret?: string;
  /** The local address of the connection. */
  from?: string;
  forwardedFor?: string;
  form?: string;
}

/** Starts an app with limits, and a client named after the test. */
async function start(clientId: string, limits: object = {}, trustedProxies: string[] = []) {
  const { config } = service.installation;
  const authFailures = { ...LIMITS, ...limits };
  const app = await startApp({
    ...config,
    query: { ...config.query, authFailures, trustedProxies },
  });
  running.push(app);
  await service.setKey({ clientId, secrets: ['right'] });
  return (asked: Asked = {}) => ask(app.url, clientId, asked);
}

/** Requests a token over a new connection. */
async function ask(
  url: string,
  own: string,
  {
    client = own,
    secret = 'wrong',
    from = '127.0.0.1',
    forwardedFor = '',
    form = 'grant_type=client_credentials',
  }: Asked,
) {
  const sent = request(url + TOKEN_PATH, {
    localAddress: from,
    method: 'POST',
    agent: false,
    auth: `${client}:${secret}`,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-forwarded-for': forwardedFor,
    },
  }).end(form);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const { error, detail = '' } = (await json(response)) as { error?: string; detail?: string };
  const retryAfter = Number(response.headers['retry-after']);
  return { status: response.statusCode, error, detail, retryAfter };
}

const RIGHT = { secret: 'right' };

/** The statuses of requests in turn. */
async function statuses(count: number, one: (index: number) => ReturnType<typeof ask>) {
  const found: (number | undefined)[] = [];
  for (let index = 0; index < count; index += 1) found.push((await one(index)).status);
  return found;
}
const refusedFrom = (limit: number, count: number) =>
  times(count, (index) => (index < limit ? 401 : 429));

/** Expects that a client has not failed, and is refused after fewer failures than usual. */
async function expectLowerLimit(asked: Awaited<ReturnType<typeof start>>) {
  expect(await asked(RIGHT)).toMatchObject({ status: 200 });
  expect(await statuses(6, () => asked())).toEqual(times(6, () => 429));
  expect(await asked(RIGHT)).toMatchObject({ status: 429 });
}

describe('too many failures', () => {
  it('are answered 429 slow_down until Retry-After, even for the right secret', async () => {
    const asked = await start('slow', { windowSeconds: 3, perClientAndAddress: 1 });
    expect(await asked()).toMatchObject({ status: 401, error: 'invalid_client' });
    let seconds = 0;
    // On a busy machine the window may end between the two.
    await eventually('both are refused in one window', async () => {
      const wrong = await asked();
      const { error, retryAfter } = await asked(RIGHT);
      seconds = retryAfter;
      return wrong.error === 'slow_down' && error === 'slow_down';
    });
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    expect(await asked(RIGHT)).toMatchObject({ status: 200 });
  });

  it('of strangers do not lock out a client: its right secret passes from another address', async () => {
    const asked = await start('victim');
    const strangers = times(120, (index) => `127.0.1.${1 + (index % 12)}`);
    const answers = await Promise.all(strangers.map((from) => asked({ from })));
    expect(answers.filter(({ status }) => status === 401).length).toBeLessThanOrEqual(
      LIMITS.perClient,
    );
    // Its own address may fail, too, but less often than without the strangers.
    await expectLowerLimit(asked);
  });

  it('of one client do not block others at the same address, which get a lower limit', async () => {
    const asked = await start('neighbour');
    expect(await statuses(40, (index) => asked({ client: `sprayed-${index}` }))).toEqual(
      refusedFrom(30, 40),
    );
    await expectLowerLimit(asked);
  });

  it('look the same for a client that does not exist', async () => {
    const asked = await start('existing');
    for (let time = 0; time < 10; time += 1) {
      const shown = async (whom: Asked) => {
        const { retryAfter: _, detail, ...rest } = await asked(whom);
        return { ...rest, detail: detail.replace(/\d+/, '') };
      };
      expect(await shown({ client: 'invented' })).toEqual(await shown({}));
    }
  });

  it('are counted exactly when they are concurrent, and a late right secret is refused', async () => {
    const asked = await start('burst');
    const answers = await Promise.all(times(60, () => asked()));
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(LIMITS.perClientAndAddress);
    expect(await asked(RIGHT)).toMatchObject({ status: 429 });
  });

  it.each([
    ['spelled', ['spelled', '%73pelled', 's%70elled']],
    ['a+b%25c', ['a+b%25c', 'a%2Bb%2525c', 'a%2bb%2525c']],
  ])('count for one client, however its name %j is encoded', async (client, spellings) => {
    const asked = await start(client);
    const found = await statuses(12, (index) => asked({ client: spellings[index % 3] ?? '' }));
    expect(found).toEqual(refusedFrom(8, 12));
  });

  it('hide whether the key is inactive, and are checked after the form', async () => {
    const asked = await start('inactive');
    await service.setKey({ clientId: 'inactive', secrets: ['right'], status: 'inactive' });
    expect(await asked(RIGHT)).toMatchObject({ status: 400, error: 'unauthorized_client' });
    await statuses(8, () => asked());
    expect(await asked(RIGHT)).toMatchObject({ status: 429 });
    const malformed = { ...RIGHT, form: 'grant_type=a&grant_type=b' };
    expect(await asked(malformed)).toMatchObject({ status: 400 });
  });
});

it('do not include successes: any number of concurrent right secrets passes', async () => {
  const asked = await start('busy', { perClientAndAddress: 1 });
  const answers = await Promise.all(times(40, () => asked(RIGHT)));
  expect(answers.map(({ status }) => status)).toEqual(times(40, () => 200));
});

it('are forgotten a window later, even if the clock of Redis was set back', async () => {
  const asked = await start('late');
  const { redis } = service.installation;
  const delay = async () => Promise.all((await counts()).map((key) => redis.expire(key, 3_600)));
  const longest = async () =>
    Math.max(...(await Promise.all((await counts()).map((key) => redis.pttl(key)))));
  await asked();
  await delay();
  // Counted again, all three are repaired.
  await asked();
  expect(await longest()).toBeLessThanOrEqual(60_000);
  await delay();
  // A service that has not refused this client yet reads its count, and counts nothing.
  const other = await start('late', { perClientAndAddress: 1 });
  const { status, retryAfter } = await other(RIGHT);
  expect(status).toBe(429);
  expect(retryAfter).toBeLessThanOrEqual(60);
  const pairs = (await counts()).filter((key) => key.includes('}:client:'));
  for (const pair of pairs) expect(await redis.pttl(pair)).toBeLessThanOrEqual(60_000);
});

it('leave no address or client_id in Redis, and nothing longer than a window', async () => {
  const asked = await start('kept');
  await asked({ from: '127.0.6.77' });
  const names = await counts();
  expect(names).not.toEqual([]);
  for (const name of names) {
    expect(name).not.toMatch(/127\.0\.6\.77|kept/);
    const left = await service.installation.redis.pttl(name);
    expect(left > 0 && left <= 60_000).toBe(true);
  }
});

it('count for the address that a trusted proxy saw, whatever the client sent', async () => {
  const asked = await start('proxied', {}, ['127.0.5.0/24']);
  const from = '127.0.5.9';
  const attack = await statuses(10, (index) =>
    asked({ from, forwardedFor: `198.51.100.${index}, 203.0.113.5` }),
  );
  expect(attack).toEqual(refusedFrom(8, 10));
  for (const [forwardedFor, status] of [
    ['1.1.1.1, 203.0.113.5, 127.0.5.8', 429],
    ['203.0.113.5, 203.0.113.6', 200],
  ] as const) {
    const own = { ...RIGHT, from, forwardedFor };
    expect(await asked(own)).toMatchObject({ status });
  }
});
