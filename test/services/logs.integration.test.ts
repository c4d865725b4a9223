/**
 * Searches all output of services and commands, at the most verbose log level, and their metrics,
 * for every secret, token and personal datum that was used.
 */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useInstallation, useMade } from '#test/hooks.ts';
import { newSigningKey, printKeySet, type SigningJwk } from '#shared/access/signing-key-set.ts';
import { hashSecret } from '#shared/access/secrets.ts';
import { encodeEvent, accessTopic, changesTopic } from '#shared/events/topics.ts';
import { ENTITY_NAMES, type EntityName } from '#shared/events/entities.ts';
import { MINIMAL } from '#test/changes.ts';
import { keyEvent, ORDER } from '#test/events.ts';
import { useFolder } from '#test/folder.ts';
import { type Answer, createApiClient, sendRaw, TOKEN_PATH } from '#test/api-client.ts';
import { eventually } from '#test/eventually.ts';
import { killAll, listening, type ServiceProcess, startService } from '#test/service-process.ts';
import { startMongodbProxy, startRedisProxy } from '#test/server-proxies.ts';
import { runCommand } from './admin/run-command.ts';
import { words } from '#test/words.ts';

/** Texts that occur nowhere else. */
const PERSON = {
  name: 'Zulmira Quixadá Wanderleya',
  document: '731.946.285-09',
  phone: '+55 85 93719-4628',
  email: 'zulmira@quixada-wanderleya.example',
  street: 'Rua Xilogravura Nordestina',
  note: 'tocar a campainha do sobrado azulejado',
  comment: 'massa esturricada demais',
};
const SPELLINGS = [
  ...Object.values(PERSON),
  encodeURIComponent(PERSON.name),
  'zulmira quixada',
  'Zulmira',
  'zulmira',
  'Quixad',
  '73194628509',
  '731.946',
  '5585937194628',
  '93719-4628',
  'Xilogravura',
  'azulejado',
  'esturricada',
];

// Servers fail here, and waiting requests must be answered before connections close.
const settings = { MONGODB_READ_TIMEOUT_MS: '5000', REDIS_COMMAND_TIMEOUT_MS: '5000' };
const installation = useInstallation({ oneRedis: true, partitions: 1, settings });
const redis = useMade(() => startRedisProxy(installation.config.redis.url));
const mongodb = useMade(() => startMongodbProxy(installation.mongodb));
const folder = useFolder();
let signingKey: SigningJwk;
let env: Record<string, string>;
const services: ServiceProcess[] = [];
/** Output of commands that must not contain secrets. */
const written: string[] = [];
const secrets = new Set<string>();
const tokens = new Set<string>();
let url = '';
let metrics = '';

beforeAll(async () => {
  signingKey = await newSigningKey();
  const file = join(folder, 'keys.json');
  await writeFile(file, printKeySet([signingKey]));
  const { SIGNING_KEYS: _inline, ...rest } = installation.env;
  env = {
    ...rest,
    REDIS_URL: redis.url,
    MONGODB_URI: mongodb.uri,
    SIGNING_KEYS_FILE: file,
    QUOTA_REQUESTS: '500',
  };
});
afterAll(() => killAll(services));

/**
 * Runs a command. Its output is searched, unless the command shows a secret or a message by design.
 */
async function command(
  args: string[],
  options: { input?: string; shows?: 'secret' | 'message' } = {},
): Promise<string> {
  const { input } = options;
  const result = await runCommand(
    { ...env, LOG_LEVEL: 'trace' },
    args,
    input === undefined ? {} : { input },
  );
  written.push(result.stderr, ...(options.shows === undefined ? [result.stdout] : []));
  return result.stdout;
}

async function ask(
  path: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<Answer> {
  const answer = await createApiClient(url).call(path, {
    headers,
    ...(body === undefined ? {} : { method: 'POST', body }),
  });
  const { access_token: token } = (answer.json ?? {}) as { access_token?: string };
  if (token !== undefined) tokens.add(token);
  return answer;
}

const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
  'content-type': 'application/x-www-form-urlencoded',
});
const askToken = (
  id: string,
  secret: string,
  form = 'grant_type=client_credentials',
  query = '',
) => {
  secrets.add(secret);
  return ask(`${TOKEN_PATH}${query}`, basic(id, secret), form);
};
const tokenOf = async (id: string, secret: string) =>
  ((await askToken(id, secret)).json as { access_token: string }).access_token;
const newSecret = () => {
  const secret = `sec${randomBytes(20).toString('hex')}`;
  secrets.add(secret);
  return secret;
};

const address = { street: PERSON.street, number: '731', city: 'Quixadá' };
const { created_at } = ORDER;
const { name, document, phone, email, note: message, comment } = PERSON;
const contact = { document, phone, email };
const customer = { id: 'c1', name, phone, document };
/** A record of each kind, with its id and more than is required. */
const RECORDS: Record<EntityName, [id: string, data: object]> = {
  store: ['s1', { ...contact, address }],
  coupon: ['n1', {}],
  customer: ['c1', { name, ...contact, addresses: [address] }],
  review: ['r1', { customer_id: 'c1', customer_name: name, comment }],
  campaign: ['m1', { message }],
  order: ['o1', { customer, notes: message, delivery: { address } }],
  category: ['k1', {}],
  product: ['p1', { category_id: 'k1' }],
  option_group: ['g1', {}],
};

/** Invalid messages, each with a text that must not be logged. */
function poison(): { key: string; value: string }[] {
  const customer = (data: object, change: object = {}) => {
    const { key, value } = encodeEvent({
      entity: 'customer',
      storeId: 's1',
      subject: 'c2',
      sequence: 1,
      source: '/test',
      data: { name, created_at, ...data },
    });
    return { key, value: JSON.stringify({ ...(JSON.parse(value) as object), ...change }) };
  };
  return [
    { key: 's1', value: `{"name":"${PERSON.name}","phone":${PERSON.phone}` },
    { key: PERSON.document, value: customer({}).value },
    customer({ phone: { number: PERSON.phone } }),
    customer({ birth_date: PERSON.document }),
    customer({ created_at: PERSON.phone }),
    customer({ email: `${PERSON.email}\0` }),
    customer({}, { type: `store-data.${PERSON.name}.changed` }),
    customer({}, { subject: PERSON.phone }),
    customer({}, { sequence: PERSON.document }),
    customer({}, { time: PERSON.comment }),
    customer({}, { specversion: PERSON.note }),
    customer({}, { storeid: PERSON.name }),
    customer({ addresses: [{ ...address, latitude: PERSON.street }] }),
  ];
}

const ENDPOINTS = words(
  '/api/store/info/ /api/coupon/list /api/coupon/details/?coupon_id=n1 /api/customer/list',
  '/api/review/list /api/review/details/?review_id=r1 /api/campaign/list',
  '/api/campaign/details/?campaign_id=m1 /api/order/list /api/order/details/?order_id=o1',
  '/api/menu/ /api/category/list /api/category/details/?category_id=k1 /api/product/list',
  '/api/product/details/?product_id=p1 /api/option-group/list /api/customer/order-list/',
);

const everything = () =>
  [
    ...services.flatMap(({ lines }) => lines.map((line) => JSON.stringify(line))),
    ...written,
    metrics,
  ].join('\n');

describe('a run with all kinds of activity', () => {
  it('includes endpoints, refusals, poison and outages', async () => {
    const imported = newSecret();
    const wrong = newSecret();
    const projector = startService('projector', env, 'trace');
    const query = startService('query', env, 'trace');
    services.push(projector, query);
    const started = await listening(query);
    url = started.url;
    await projector.logged(({ msg }) => msg === 'projector started');

    const { environment } = installation;
    const lines = ENTITY_NAMES.map((entity) => {
      const [subject, more] = RECORDS[entity];
      const data = { ...MINIMAL[entity], ...more };
      return encodeEvent({ entity, storeId: 's1', subject, sequence: 1, source: '/test', data })
        .value;
    });
    await command(['publish', '-', '-e', environment], { input: lines.join('\n') });
    type Made = { client_id: string; client_secret: string };
    const creating = words('keys create -s s1 --scopes store,crm,order,menu --json');
    const { client_id: id, client_secret: secret } = JSON.parse(
      await command(creating, { shows: 'secret' }),
    ) as Made;
    secrets.add(secret);
    const create = words('keys create -s s1 --scopes menu --client-id pos-17 --secret-file -');
    await command(create, { input: imported });
    const rotated = JSON.parse(
      await command(['keys', 'rotate-secret', id, '--json'], { shows: 'secret' }),
    ) as Made;
    secrets.add(rotated.client_secret);

    // Requests of every kind.
    expect((await askToken(id, rotated.client_secret)).status).toBe(200);
    const live = await tokenOf(id, secret);
    const bearer = { authorization: `Bearer ${live}` };
    const customers = `/api/customer/list?search=${encodeURIComponent('zulmira quixada')}`;
    await eventually('events are applied', async () => {
      const { status, json } = await ask(customers, bearer);
      return status === 200 && (json as { count: number }).count === 1;
    });
    for (const path of ENDPOINTS) expect((await ask(path, bearer)).status).toBe(200);
    const searches = [PERSON.document, '73194628509', PERSON.phone, PERSON.name].map(
      (text) => `/api/customer/list?search=${encodeURIComponent(text)}`,
    );
    for (const path of searches) expect((await ask(path, bearer)).status).toBe(200);
    const refused: [string, number][] = [
      [`/api/customer/list?document=${PERSON.document}`, 422],
      [`/api/customer/list?${encodeURIComponent(PERSON.name)}=1`, 422],
      [`/api/customer/list?search=${PERSON.name}&search=${PERSON.phone}`, 422],
      [`/api/customer/list?created_from=${encodeURIComponent(PERSON.phone)}`, 422],
      [`/api/order/list?status=${encodeURIComponent(PERSON.name)}`, 422],
      [`/api/order/details/?order_id=${encodeURIComponent(PERSON.email)}`, 422],
      ['/api/order/details/?order_id=none', 404],
    ];
    for (const [path, status] of refused) expect((await ask(path, bearer)).status).toBe(status);
    const menuOnly = await tokenOf('pos-17', imported);
    expect((await ask(customers, { authorization: `Bearer ${menuOnly}` })).status).toBe(403);
    for (const token of [secret, `${live}x`, `${live.slice(0, -4)}AAAA`]) {
      expect((await ask(customers, { authorization: `Bearer ${token}` })).status).toBe(401);
    }
    expect((await ask(customers, basic(id, secret))).status).toBe(401);

    // The token endpoint, with secrets in every possible place.
    expect((await askToken(id, wrong)).status).toBe(401);
    expect((await askToken(wrong, wrong)).status).toBe(401);
    const form = `grant_type=client_credentials&client_id=${id}&client_secret=${secret}`;
    for (const [body, query] of [
      [form, ''],
      ['grant_type=client_credentials', `?client_id=${id}&client_secret=${secret}`],
      [`grant_type=password&username=${id}&password=${secret}`, ''],
      [`grant_type=client_credentials&scope=${secret}`, ''],
      [`${secret}=%zz`, ''],
    ] as const) {
      expect((await askToken(id, secret, body, query)).status).toBe(400);
    }
    // Malformed HTTP and unknown paths.
    const sendHead = (line: string, more = '') =>
      sendRaw(url, `${line} HTTP/1.1\r\nHost: x\r\n${more}\r\n`);
    const close = 'Connection: close\r\n';
    await sendHead(
      'GET /api/menu/',
      `Authorization: ${bearer.authorization}\r\n bad: ${secret}\r\n`,
    );
    await sendRaw(url, `${secret} ${PERSON.phone}\r\n\r\n`);
    for (const misplaced of [secret, live, encodeURIComponent(PERSON.name)]) {
      for (const path of [
        `/${misplaced}`,
        `/api/customer/list/${misplaced}`,
        `/api/${misplaced}?x`,
      ]) {
        expect((await ask(path, bearer)).status).toBe(404);
      }
      await sendHead(`GET /api/menu/#${misplaced}`, close);
      await sendHead(`DELETE /api/menu/?${misplaced}`, close);
      await sendHead(`${misplaced.slice(0, 20)} /api/menu/`);
      await sendHead(`GET /%zz${misplaced}`, close);
      expect((await fetch(`${started.operations}/${misplaced}`)).status).toBe(404);
    }
    await ask(`/nowhere?search=${encodeURIComponent(PERSON.name)}&token=${live}`, bearer);

    // Poison on both topics.
    await installation.send(changesTopic(environment), poison());
    await installation.publishAccess([
      keyEvent('bad', 1, { secret_sha256: secret }),
      keyEvent('bad', 1, { scopes: [secret], status: imported }),
      keyEvent(secret.repeat(4), 1),
    ]);
    await installation.send(accessTopic(environment), [
      { key: 's1', value: `{"secret":"${secret}"` },
    ]);
    const letters = poison().length + 4;
    await eventually('poison is put aside', async () => {
      const listed = await command(['dead-letters', 'list', '--json'], { shows: 'message' });
      return (JSON.parse(listed) as { total: number }).total === letters;
    });
    await command(['dead-letters', 'list'], { shows: 'message' });

    // Commands that change access, and commands that fail.
    await command(['sessions', 'revoke', '--token'], { input: live });
    expect((await ask(customers, bearer)).status).toBe(401);
    await command(['keys', 'scopes', 'pos-17', '--set', 'order']);
    await command(['keys', 'deactivate', 'pos-17']);
    expect((await askToken('pos-17', imported)).status).toBe(400);
    await command(['keys', 'revoke', 'pos-17']);
    expect((await askToken('pos-17', imported)).status).toBe(401);
    await command(create, { input: imported });
    await command(['stores', 'block', 's1']);
    expect((await askToken(id, secret)).status).toBe(400);
    await command(['stores', 'unblock', 's1']);
    await command(['signing-keys', 'rotate']);
    const shown = [
      ['keys', 'list'],
      ['signing-keys', 'list'],
      ['audit'],
      ['audit', '--json'],
      ['lag'],
      ['config'],
    ];
    await Promise.all(shown.map((args) => command(args)));
    metrics = await (await fetch(`${started.operations}/metrics`)).text();

    // A broken key file, and servers that fail during requests and events.
    await writeFile(
      join(folder, 'keys.json'),
      JSON.stringify({ keys: [{ ...signingKey, x: signingKey.d }] }),
    );
    await query.logged(({ msg }) => msg?.startsWith('signing keys cannot be read again') === true);
    const again = { authorization: `Bearer ${await tokenOf(id, secret)}` };
    expect((await ask(customers, again)).status).toBe(200);
    for (const proxy of [redis, mongodb]) {
      await proxy.cut();
      const data = { name, phone, created_at };
      await installation.publish([
        { entity: 'customer', storeId: 's1', subject: 'c1', sequence: Date.now(), data },
      ]);
      const paths = [customers, ...searches];
      const refusals = await Promise.all([
        ...paths.map((path) => ask(path, again)),
        askToken(id, secret),
      ]);
      expect(refusals.map(({ status }) => status)).toEqual(refusals.map(() => 503));
      const failing = command(['keys', 'activate', id, '--wait', '1']);
      await Promise.race([
        failing,
        query.logged(({ msg, status }) => msg === 'request' && status === 503),
      ]);
      await proxy.restore();
      await failing;
      await eventually(
        'requests pass again',
        async () => (await ask(customers, again)).status === 200,
      );
    }
    for (const service of [query, projector]) {
      service.kill('SIGTERM');
      await service.ended;
    }
  });

  it('logs lines about all of them', () => {
    const text = everything();
    for (const words of [
      '"msg":"request"',
      '"reason":"secret_wrong"',
      '"reason":"client_unknown"',
      '"reason":"scope_missing"',
      '"reason":"session_ended"',
      '"reason":"token_invalid"',
      '"client_id":"pos-17"',
      'malformed request',
      'Redis',
      'signing keys cannot be read again',
      'store_data_refusals_total{route="/api/auth/token/",status="401",reason="secret_wrong"} 1',
      'exists already',
      'SIGNING_KEYS_FILE',
    ]) {
      expect(text).toContain(words);
    }
    expect(text.length).toBeGreaterThan(10_000);
    expect(tokens.size).toBeGreaterThan(3);
    expect(secrets.size).toBeGreaterThan(3);
  });

  it('logs no secret, hash, token, key or personal datum', () => {
    const text = everything();
    const told = (what: string) => {
      const index = text.indexOf(what);
      return index === -1 ? null : text.slice(Math.max(0, index - 200), index + 100);
    };
    const forbidden = [
      ...[...secrets].flatMap((secret) => [
        secret,
        hashSecret(secret),
        Buffer.from(secret).toString('base64').slice(0, -4),
      ]),
      // Without the header, which all tokens share.
      ...[...tokens].flatMap((token) => token.split('.').slice(1)),
      signingKey.d,
      ...SPELLINGS,
    ];
    expect(forbidden.map(told).filter((context) => context !== null)).toEqual([]);
  });
});
