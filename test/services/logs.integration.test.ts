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
import {
  type ApiClient,
  createApiClient,
  type ListBody,
  sendRaw,
  TOKEN_PATH,
} from '#test/api-client.ts';
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
/** Parts of them: as written, folded, and as digits. */
const SPELLINGS = words(
  'Zulmira zulmira Quixad 731.946 73194628509 93719-4628 5585937194628 Xilogravura azulejado',
  'esturricada',
);

// Servers fail here, and waiting requests must be answered before connections close.
const settings = { MONGODB_READ_TIMEOUT_MS: '5000', REDIS_COMMAND_TIMEOUT_MS: '5000' };
const installation = useInstallation({ oneRedis: true, partitions: 1, settings });
const redis = useMade(() => startRedisProxy(installation.config.redis.url));
const mongodb = useMade(() => startMongodbProxy(installation.mongodb));
const folder = useFolder();
let signingKey: SigningJwk;
let env: Record<string, string>;
let api: ApiClient;
const services: ServiceProcess[] = [];
/** Output of commands that must not contain secrets. */
const written: string[] = [];
const secrets = new Set<string>();
const tokens = new Set<string>();
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
  words: string,
  { input = '', shows }: { input?: string; shows?: 'secret' | 'message' } = {},
): Promise<string> {
  const result = await runCommand({ ...env, LOG_LEVEL: 'trace' }, words, { input });
  written.push(result.stderr, ...(shows === undefined ? [result.stdout] : []));
  return result.stdout;
}

/** Makes a key, or a new secret of one. */
async function makeSecret(words: string): Promise<{ id: string; secret: string }> {
  const made = JSON.parse(await command(`${words} --json`, { shows: 'secret' })) as {
    client_id: string;
    client_secret: string;
  };
  secrets.add(made.client_secret);
  return { id: made.client_id, secret: made.client_secret };
}

async function tokenOf(id: string, secret: string): Promise<string> {
  const token = await api.token(id, secret);
  tokens.add(token);
  return token;
}
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
    customer({ addresses: [{ ...address, latitude: PERSON.street }] }),
    ...words('type subject sequence time specversion storeid').map((attribute) =>
      customer({}, { [attribute]: PERSON.name }),
    ),
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
  [...services.map(({ lines }) => JSON.stringify(lines)), ...written, metrics].join('\n');

describe('a run with all kinds of activity', () => {
  it('includes endpoints, refusals, poison and outages', async () => {
    const imported = newSecret();
    const wrong = newSecret();
    const projector = startService('projector', env, 'trace');
    const query = startService('query', env, 'trace');
    services.push(projector, query);
    const { url, operations } = await listening(query);
    api = createApiClient(url);
    await projector.logged(({ msg }) => msg === 'projector started');

    const { environment } = installation;
    const lines = ENTITY_NAMES.map((entity) => {
      const [subject, more] = RECORDS[entity];
      const data = { ...MINIMAL[entity], ...more };
      return encodeEvent({ entity, storeId: 's1', subject, sequence: 1, source: '/test', data })
        .value;
    });
    await command(`publish - -e ${environment}`, { input: lines.join('\n') });
    const { id, secret } = await makeSecret('keys create -s s1 --scopes store,crm,order,menu');
    const create = 'keys create -s s1 --scopes menu --client-id pos-17 --secret-file -';
    await command(create, { input: imported });
    await tokenOf(id, (await makeSecret(`keys rotate-secret ${id}`)).secret);

    // Requests of every kind.
    const live = await tokenOf(id, secret);
    const encoded = encodeURIComponent(PERSON.name);
    const customers = '/api/customer/list?search=zulmira%20quixada';
    await eventually('events are applied', async () => {
      const { status, json } = await api.get(customers, live);
      return status === 200 && (json as ListBody).count === 1;
    });
    const searches = [
      PERSON.document,
      '73194628509',
      encodeURIComponent(PERSON.phone),
      encoded,
    ].map((text) => `/api/customer/list?search=${text}`);
    const statuses: [string, number][] = [
      ...[...ENDPOINTS, ...searches].map((path): [string, number] => [path, 200]),
      [`/api/customer/list?${encoded}=1`, 422],
      [`/api/customer/list?search=${encoded}&search=${PERSON.document}`, 422],
      [`/api/order/list?status=${encoded}`, 422],
      [`/api/order/details/?order_id=${encodeURIComponent(PERSON.email)}`, 422],
      ['/api/order/details/?order_id=none', 404],
    ];
    for (const [path, status] of statuses) {
      expect([path, (await api.get(path, live)).status]).toEqual([path, status]);
    }
    expect((await api.get(customers, await tokenOf('pos-17', imported))).status).toBe(403);
    for (const token of [secret, `${live}x`, `${live.slice(0, -4)}AAAA`]) {
      expect((await api.get(customers, token)).status).toBe(401);
    }
    const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
    expect((await api.call(customers, { headers: { authorization } })).status).toBe(401);

    // The token endpoint, with secrets in every possible place.
    expect((await api.askToken(id, wrong)).status).toBe(401);
    expect((await api.askToken(wrong, wrong)).status).toBe(401);
    const credentials = `client_id=${id}&client_secret=${secret}`;
    for (const form of [
      `grant_type=client_credentials&${credentials}`,
      `grant_type=password&username=${id}&password=${secret}`,
      `grant_type=client_credentials&scope=${secret}`,
      `${secret}=%zz`,
    ]) {
      expect((await api.askToken(id, secret, form)).status).toBe(400);
    }
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const inQuery = { method: 'POST', headers, body: 'grant_type=client_credentials' };
    expect((await api.call(`${TOKEN_PATH}?${credentials}`, inQuery)).status).toBe(400);
    // Malformed HTTP and unknown paths.
    const sendHead = (line: string, more = '') =>
      sendRaw(url, `${line} HTTP/1.1\r\nHost: x\r\n${more}\r\n`);
    const close = 'Connection: close\r\n';
    await sendHead('GET /api/menu/', `Authorization: Bearer ${live}\r\n bad: ${secret}\r\n`);
    await sendRaw(url, `${secret} ${PERSON.phone}\r\n\r\n`);
    for (const misplaced of [secret, live, encoded]) {
      for (const path of [`/${misplaced}`, `/api/customer/list/${misplaced}`, `/no?${misplaced}`])
        expect((await api.get(path, live)).status).toBe(404);
      await sendHead(`GET /api/menu/#${misplaced}`, close);
      await sendHead(`DELETE /api/menu/?${misplaced}`, close);
      await sendHead(`${misplaced.slice(0, 20)} /api/menu/`);
      await sendHead(`GET /%zz${misplaced}`, close);
      expect((await fetch(`${operations}/${misplaced}`)).status).toBe(404);
    }

    // Poison on both topics.
    const messages = poison();
    await installation.send(changesTopic(environment), messages);
    await installation.publishAccess([
      keyEvent('bad', 1, { secret_sha256: secret }),
      keyEvent('bad', 1, { scopes: [secret], status: imported }),
      keyEvent(secret.repeat(4), 1),
    ]);
    await installation.send(accessTopic(environment), [
      { key: 's1', value: `{"secret":"${secret}"` },
    ]);
    await eventually('poison is put aside', async () => {
      const listed = await command('dead-letters list --json', { shows: 'message' });
      return (JSON.parse(listed) as { total: number }).total === messages.length + 4;
    });
    await command('dead-letters list', { shows: 'message' });

    // Commands that change access, and commands that fail.
    await command('sessions revoke --token', { input: live });
    expect((await api.get(customers, live)).status).toBe(401);
    await command('keys scopes pos-17 --set order');
    await command('keys deactivate pos-17');
    expect((await api.askToken('pos-17', imported)).status).toBe(400);
    await command('keys revoke pos-17');
    expect((await api.askToken('pos-17', imported)).status).toBe(401);
    await command(create, { input: imported });
    await command('stores block s1');
    expect((await api.askToken(id, secret)).status).toBe(400);
    await command('stores unblock s1');
    await command('signing-keys rotate');
    const shown = ['keys list', 'signing-keys list', 'audit', 'audit --json', 'lag', 'config'];
    await Promise.all(shown.map((one) => command(one)));
    metrics = await (await fetch(`${operations}/metrics`)).text();

    // A broken key file, and servers that fail during requests and events.
    const broken = { keys: [{ ...signingKey, x: signingKey.d }] };
    await writeFile(join(folder, 'keys.json'), JSON.stringify(broken));
    await query.logged(({ msg }) => msg?.startsWith('signing keys cannot be read again') === true);
    const again = await tokenOf(id, secret);
    for (const proxy of [redis, mongodb]) {
      await proxy.cut();
      const data = { name, phone, created_at };
      await installation.publish([
        { entity: 'customer', storeId: 's1', subject: 'c1', sequence: Date.now(), data },
      ]);
      const refusals = await Promise.all([
        ...[customers, ...searches].map((path) => api.get(path, again)),
        api.askToken(id, secret),
      ]);
      expect(new Set(refusals.map(({ status }) => status))).toEqual(new Set([503]));
      const failing = command(`keys activate ${id} --wait 1`);
      await Promise.race([
        failing,
        query.logged(({ msg, status }) => msg === 'request' && status === 503),
      ]);
      await proxy.restore();
      await failing;
      await eventually(
        'requests pass again',
        async () => (await api.get(customers, again)).status === 200,
      );
    }
    for (const service of services) {
      service.kill('SIGTERM');
      await service.ended;
    }
  });

  it('logs lines about all of them', () => {
    const text = everything();
    for (const line of [
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
      expect(text).toContain(line);
    }
    expect([tokens.size, secrets.size]).toEqual([4, 4]);
  });

  it('logs no secret, hash, token, key or personal datum', () => {
    const text = everything();
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
    const found = forbidden.filter((what) => text.includes(what));
    // The text before each shows which line has it.
    const told = found.map((what) => text.slice(0, text.indexOf(what)).slice(-300));
    expect(told).toEqual([]);
  });
});
