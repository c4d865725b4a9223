/**
 * Guessing secrets at the token endpoint over real sockets: the limits, and the address to which
 * failures count.
 */
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import type { Config } from '#shared/config.ts';
import { useQueryService } from '#test/hooks.ts';
import { times } from '#test/times.ts';
import { TOKEN_PATH } from '#test/api-client.ts';
import { eventually } from '#test/eventually.ts';
import { type RunningApp, startApp } from '#test/query-service.ts';

const LIMITS = { windowSeconds: 60, perClientAndAddress: 8, perAddress: 30, perClient: 30 };

const service = useQueryService({ oneRedis: true });

const running: RunningApp[] = [];
afterEach(async () => {
  for (const { app } of running.splice(0)) await app.close();
  // Failures of one test must not affect the next.
  const { redis, config } = service.installation;
  const counts = await redis.keys(`${config.namePrefix}:{failed:*`);
  if (counts.length > 0) await redis.del(counts);
});

interface Asked {
  client: string;
  secret?: string;
  /** The local address of the connection. */
  from?: string;
  forwardedFor?: string;
  form?: string;
}

interface Answered {
  status: number;
  error: string | undefined;
  retryAfter: number;
  body: string;
}

type Ask = (asked: Asked) => Promise<Answered>;

/** Starts an app with limits, and a client named after the test. */
async function start(
  test: string,
  { limits = LIMITS, trustedProxies = [] as string[] } = {},
): Promise<Ask> {
  const { config } = service.installation;
  const settings: Config = {
    ...config,
    query: { ...config.query, authFailures: limits, trustedProxies },
  };
  const app = await startApp(settings);
  running.push(app);
  await service.setKey({ clientId: test, secrets: ['right'] });
  return (asked) => ask(app.url, asked);
}

/** Requests a token over a new connection. */
async function ask(
  url: string,
  {
    client,
    secret = 'wrong',
    from = '127.0.0.1',
    forwardedFor,
    form = 'grant_type=client_credentials',
  }: Asked,
): Promise<Answered> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(
      url + TOKEN_PATH,
      {
        localAddress: from,
        method: 'POST',
        agent: false,
        headers: {
          authorization: `Basic ${Buffer.from(`${client}:${secret}`).toString('base64')}`,
          'content-type': 'application/x-www-form-urlencoded',
          ...(forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }),
        },
      },
      resolve,
    );
    sent.on('error', reject);
    sent.end(form);
  });
  const body = await text(response);
  expect(response.headers['cache-control']).toBe('no-store');
  const { error } = JSON.parse(body) as { error?: string };
  return {
    status: response.statusCode ?? 0,
    error,
    retryAfter: Number(response.headers['retry-after']),
    body,
  };
}

async function statuses(
  times: number,
  one: (index: number) => Promise<Answered>,
): Promise<number[]> {
  const found: number[] = [];
  for (let index = 0; index < times; index += 1) found.push((await one(index)).status);
  return found;
}
const refusedFrom = (limit: number, count: number) =>
  times(count, (index) => (index < limit ? 401 : 429));

describe('too many failures', () => {
  it('are answered 429 slow_down until Retry-After, even for the right secret', async () => {
    const limits = { ...LIMITS, windowSeconds: 3, perClientAndAddress: 1 };
    const asked = await start('slow', { limits });
    expect(await asked({ client: 'slow' })).toMatchObject({ status: 401, error: 'invalid_client' });
    let wrong = await asked({ client: 'slow' });
    let right = await asked({ client: 'slow', secret: 'right' });
    // On a busy machine the window may end between the two.
    await eventually('both come in one window', async () => {
      if (wrong.status === 429 && right.status === 429) return true;
      wrong = await asked({ client: 'slow' });
      right = await asked({ client: 'slow', secret: 'right' });
      return false;
    });
    for (const { status, error, body, retryAfter } of [wrong, right]) {
      expect([status, error]).toEqual([429, 'slow_down']);
      const detail = `too many failed authentications, wait ${retryAfter} s`;
      expect(JSON.parse(body)).toEqual({
        error: 'slow_down',
        error_description: detail,
        code: 'slow_down',
        detail,
      });
    }
    await new Promise((resolve) => setTimeout(resolve, right.retryAfter * 1_000));
    expect(await asked({ client: 'slow', secret: 'right' })).toMatchObject({ status: 200 });
  });

  it('of strangers do not lock out a client: its right secret passes from another address', async () => {
    const asked = await start('victim');
    const strangers = times(120, (index) => `127.0.1.${1 + (index % 12)}`);
    const answers = await Promise.all(strangers.map((from) => asked({ client: 'victim', from })));
    expect(answers.filter(({ status }) => status === 401).length).toBeLessThanOrEqual(
      LIMITS.perClient,
    );
    expect(answers.every(({ status }) => status === 401 || status === 429)).toBe(true);
    for (const from of ['127.0.0.1', '127.0.2.1']) {
      expect(await asked({ client: 'victim', secret: 'right', from })).toMatchObject({
        status: 200,
      });
    }
    // Its own address may fail, too, but less often than without the strangers.
    expect(await statuses(6, () => asked({ client: 'victim' }))).toEqual(times(6, () => 429));
    expect(await asked({ client: 'victim', secret: 'right' })).toMatchObject({ status: 429 });
  });

  it('of one client do not block others at the same address, which get a lower limit', async () => {
    const asked = await start('neighbour');
    expect(await statuses(40, (index) => asked({ client: `sprayed-${index}` }))).toEqual(
      refusedFrom(30, 40),
    );
    expect(await asked({ client: 'neighbour', secret: 'right' })).toMatchObject({ status: 200 });
    expect(await statuses(5, () => asked({ client: 'neighbour' }))).toEqual(times(5, () => 429));
    expect(await asked({ client: 'neighbour', secret: 'right' })).toMatchObject({ status: 429 });
  });

  it('look the same for a client that does not exist', async () => {
    const asked = await start('existing');
    const [real, invented] = [[], []] as Answered[][];
    for (let time = 0; time < 10; time += 1) {
      real?.push(await asked({ client: 'existing' }));
      invented?.push(await asked({ client: 'invented' }));
    }
    expect(real?.map(({ status }) => status)).toEqual(refusedFrom(8, 10));
    const shown = (answers: Answered[] | undefined) =>
      answers?.map(({ status, body }) => [status, body.replaceAll(/\d+ s/g, 's')]);
    expect(shown(invented)).toEqual(shown(real));
  });

  it('are counted exactly when they are concurrent, and a late right secret is refused', async () => {
    const asked = await start('burst');
    const answers = await Promise.all(times(60, () => asked({ client: 'burst' })));
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(LIMITS.perClientAndAddress);
    expect(await asked({ client: 'burst', secret: 'right' })).toMatchObject({ status: 429 });
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
    const right = { client: 'inactive', secret: 'right' };
    expect(await asked(right)).toMatchObject({ status: 400, error: 'unauthorized_client' });
    await statuses(8, () => asked({ client: 'inactive' }));
    expect(await asked(right)).toMatchObject({ status: 429 });
    expect(await asked({ ...right, form: 'grant_type=a&grant_type=b' })).toMatchObject({
      status: 400,
    });
  });
});

it('do not include successes: any number of concurrent right secrets passes', async () => {
  const asked = await start('busy', { limits: { ...LIMITS, perClientAndAddress: 1 } });
  const answers = await Promise.all(times(40, () => asked({ client: 'busy', secret: 'right' })));
  expect(answers.map(({ status }) => status)).toEqual(times(40, () => 200));
});

it('are forgotten a window later, even if the clock of Redis was set back', async () => {
  const asked = await start('late');
  const { redis, config } = service.installation;
  const counts = () => redis.keys(`${config.namePrefix}:{failed:*`);
  const delay = async () => Promise.all((await counts()).map((key) => redis.expire(key, 3_600)));
  const longest = async () =>
    Math.max(...(await Promise.all((await counts()).map((key) => redis.pttl(key)))));
  await asked({ client: 'late' });
  await delay();
  // Counted again, all three are repaired.
  await asked({ client: 'late' });
  expect(await longest()).toBeLessThanOrEqual(60_000);
  await delay();
  // A service that has not refused this client yet reads its count, and counts nothing.
  const other = await start('late', { limits: { ...LIMITS, perClientAndAddress: 1 } });
  const { status, retryAfter } = await other({ client: 'late', secret: 'right' });
  expect(status).toBe(429);
  expect(retryAfter).toBeLessThanOrEqual(60);
  const pairs = (await counts()).filter((key) => key.includes('}:client:'));
  for (const pair of pairs) expect(await redis.pttl(pair)).toBeLessThanOrEqual(60_000);
});

it('leave no address or client_id in Redis, and nothing longer than a window', async () => {
  const asked = await start('kept', { limits: { ...LIMITS, perAddress: 1_000 } });
  const { redis, config } = service.installation;
  const counts = () => redis.keys(`${config.namePrefix}:{failed:*`);
  await asked({ client: 'some-client', from: '127.0.6.77' });
  for (const key of await counts()) {
    expect(key).not.toContain('127.0.6.77');
    expect(key).not.toContain('some-client');
    expect(await redis.pttl(key)).toBeGreaterThan(0);
    expect(await redis.pttl(key)).toBeLessThanOrEqual(60_000);
  }
  await Promise.all(times(100, (index) => asked({ client: `invented-${index}` })));
  // 16 bits distinguish clients.
  const clients = (await counts()).filter((key) => key.includes('}:client:'));
  expect(clients.length).toBeGreaterThan(90);
  for (const client of clients) expect(client).toMatch(/:client:[0-9a-f]{4}$/);
});

it('count for the address that a trusted proxy saw, whatever the client sent', async () => {
  const asked = await start('proxied', { trustedProxies: ['127.0.5.0/24'] });
  const from = '127.0.5.9';
  const attack = await statuses(10, (index) =>
    asked({ client: 'proxied', from, forwardedFor: `198.51.100.${index}, 203.0.113.5` }),
  );
  expect(attack).toEqual(refusedFrom(8, 10));
  const right = { client: 'proxied', secret: 'right', from };
  for (const [forwardedFor, status] of [
    ['1.1.1.1, 203.0.113.5, 127.0.5.8', 429],
    ['203.0.113.5, 203.0.113.6', 200],
  ] as const)
    expect(await asked({ ...right, forwardedFor })).toMatchObject({ status });
  expect(await asked(right)).toMatchObject({ status: 200 });
});
