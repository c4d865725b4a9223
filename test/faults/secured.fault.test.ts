/**
 * A secured installation, set up only by the documents: TLS and passwords on all three servers,
 * each process and command as its user of deploy/privileges, from `prepare` to each recovery.
 * STACK_TOPOLOGY=cluster uses three brokers, three members and a cluster.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newSigningKey } from '#shared/access/signing-key-set.ts';
import { createApiClient } from '#test/api-client.ts';
import { debianRedis } from '#test/debian-redis.ts';
import { documentedCommands } from './documented-commands.ts';
import { orderMessage } from '#test/events.ts';
import { eventually } from '#test/eventually.ts';
import { PATIENCE } from '#test/patience.ts';
import { type ServiceProcess, startService } from '#test/service-process.ts';
import {
  asDataUser,
  asKafkaUser,
  type KafkaUser,
  type PrivilegedServers,
  startPrivilegedServers,
} from '../secure-servers/privileges.ts';
import { runCommand } from '../services/admin/run-command.ts';

const size = process.env['STACK_TOPOLOGY'] === 'cluster' ? 3 : 1;
const ORDERS = 2;

interface Key {
  client_id: string;
  client_secret: string;
}

describe(`a secured installation, set up only by the documents, on ${size === 1 ? 'single servers' : 'clusters'}`, () => {
  let folder: string;
  let servers: PrivilegedServers;
  let common: Record<string, string>;
  let projector: ServiceProcess | null = null;
  let query: ServiceProcess | null = null;
  let url = '';
  const keys: Record<'s1' | 's2', Key> = { s1: noKey(), s2: noKey() };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'store-data-secured-'));
    const redis = await debianRedis();
    if (typeof redis === 'string') process.stderr.write(`Redis runs without TLS: ${redis}\n`);
    const redisWithTls = typeof redis === 'string' ? undefined : redis;
    servers = await startPrivilegedServers({ size, redisWithTls });
    common = {
      ...PATIENCE,
      ENVIRONMENTS: 'production',
      QUERY_PORT: '0',
      OPERATIONS_PORT: '0',
      SIGNING_KEYS: JSON.stringify({ keys: [await newSigningKey()] }),
    };
  });
  afterAll(async () => {
    await Promise.all([end('query'), end('projector')]);
    await servers?.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** The settings of a process or command with its Kafka user. */
  const settingsOf = (user: KafkaUser): Record<string, string> => ({
    ...servers.env,
    ...common,
    ...asKafkaUser(user),
    ...(user === 'store-data-publisher' ? {} : asDataUser('store-data-projector')),
  });

  /** Runs a command as its user, with `--json` if the result is needed. */
  async function run(user: KafkaUser, args: string[]): Promise<unknown> {
    const { code, stdout, stderr } = await runCommand(settingsOf(user), [...args, '--json']);
    if (code !== 0)
      throw new Error(`store-data ${args.join(' ')} as ${user} ended with ${code}: ${stderr}`);
    return JSON.parse(stdout) as unknown;
  }
  const operate = (args: string[]) => run('store-data-operator', args);

  async function startProjector(): Promise<void> {
    projector = startService('projector', settingsOf('store-data-projector'));
    await projector.logged((line) => 'operations' in line);
  }

  async function startQuery(): Promise<void> {
    // The query service needs no Kafka user.
    const { KAFKA_TLS: _tls, KAFKA_TLS_CA_FILE: _ca, ...others } = servers.env;
    query = startService('query', { ...others, ...common, ...asDataUser('store-data-query') });
    url = String((await query.logged((line) => 'operations' in line && 'url' in line))['url']);
  }

  async function end(name: 'projector' | 'query'): Promise<void> {
    const service = name === 'projector' ? projector : query;
    service?.kill('SIGTERM');
    await service?.ended;
  }

  const order = (storeId: string, id: number) => orderMessage(`o${id}`, { storeId }).value;

  async function eventsFile(stores: string[]): Promise<string> {
    const path = join(folder, 'events.ndjson');
    const ids = Array.from({ length: ORDERS }, (_, id) => id);
    await writeFile(
      path,
      stores.flatMap((store) => ids.map((id) => `${order(store, id)}\n`)).join(''),
    );
    return path;
  }

  /** The number of a key's orders, or the status of the refusal. */
  async function answers({ client_id, client_secret }: Key): Promise<string> {
    const client = createApiClient(url);
    const asked = await client.askToken(client_id, client_secret);
    if (asked.status !== 200) return `no token: ${asked.status}`;
    const { status, json } = await client.get(
      '/api/order/list',
      (asked.json as { access_token: string }).access_token,
    );
    return status === 200 ? `${(json as { count: number }).count} orders` : `no list: ${status}`;
  }
  const ALL = `${ORDERS} orders`;
  const untilAnswered = (key: Key, answer: string) =>
    eventually(`a key is answered ${answer}`, async () => (await answers(key)) === answer);

  const untilApplied = () =>
    eventually('the lag is 0', async () => ((await operate(['lag'])) as { lag: number }).lag === 0);

  /** Asserts that each key has exactly its former rights. */
  async function expectRecovered(): Promise<void> {
    await untilAnswered(keys.s2, ALL);
    expect(await answers(keys.s1)).toBe('no token: 401');
    const made = (await operate(
      'keys create --store s2 --environment production --scopes order'.split(' '),
    )) as Key;
    await untilAnswered(made, ALL);
    expect(await operate(['stores', 'list'])).toMatchObject([
      { store_id: 's1', blocked: true },
      { store_id: 's2', quota: { requests: 777 } },
      { store_id: 's3', blocked: true },
    ]);
    // The erased store's record does not return.
    expect(await operate(['verify', '--deep'])).toMatchObject({ differences: [], stores: 1 });
  }

  it('answers after prepare, and supports what operators do', async () => {
    const file = await eventsFile(['s1', 's2']);
    for (const { args: words, remark } of documentedCommands(
      'deploying.md',
      'A user for each process',
    )) {
      const args = words.map(
        (word) => ({ 'events.ndjson': file, CLIENT_ID: keys.s1.client_id })[word] ?? word,
      );
      const result = await run(remark as KafkaUser, args);
      switch (args.slice(0, 2).join(' ')) {
        case 'prepare --partitions':
          await startProjector();
          await startQuery();
          break;
        case 'keys create':
          keys.s1 = result as Key;
          keys.s2 = (await operate(args.map((word) => (word === 's1' ? 's2' : word)))) as Key;
          break;
        case 'keys revoke':
          await untilAnswered(keys.s1, 'no token: 401');
          break;
        case 'stores erase':
          expect(result).toMatchObject({ generations: [{ documents: { orders: ORDERS } }] });
          break;
        case 'verify --deep':
          expect(result).toMatchObject({ differences: [], stores: 2 });
          break;
        default:
          if (args[0] === 'publish') await untilApplied();
          await untilAnswered(keys.s1, ALL);
      }
    }
    await operate('quota set --store s2 --environment production --requests 777'.split(' '));
    await operate('stores block s3 --environment production'.split(' '));
    await expectRecovered();
  });

  it('recovers from the loss of Redis by itself, as documented', async () => {
    await servers.lose('redis');
    await expectRecovered();
  });

  it('recovers from the loss of MongoDB', async () => {
    await end('projector');
    await servers.lose('mongodb');
    await startProjector();
    for (const { args } of documentedCommands('recovery.md', 'MongoDB is lost')) {
      if (args[0] === 'lag') await untilApplied();
      else await operate(args);
    }
    await expectRecovered();
  });

  it('recovers from the loss of Kafka', async () => {
    await servers.lose('kafka');
    const file = await eventsFile(['s2']);
    for (const { args: words } of documentedCommands('recovery.md', 'Kafka is lost')) {
      const [command = ''] = words;
      if (command === 'prepare') {
        await run('store-data-administrator', words);
        await run('store-data-publisher', ['publish', file, '--environment', 'production']);
        await end('projector');
        await startProjector();
      } else if (words.slice(0, 2).join(' ') === 'generations drop') {
        const { generations } = (await operate(['generations', 'list'])) as {
          generations: { number: number; state: string }[];
        };
        const kept = generations.find(({ state }) => state === 'kept')?.number;
        await operate(words.map((word) => (/^\d+$/.test(word) ? String(kept) : word)));
      } else if (command === 'lag') await untilApplied();
      else await operate(words);
    }
    await expectRecovered();
  });
});

function noKey(): Key {
  return { client_id: '', client_secret: '' };
}
