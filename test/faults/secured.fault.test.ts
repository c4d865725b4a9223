/**
 * A secured installation, set up only by the documents: TLS and passwords on all three servers,
 * each process and command as its user of deploy/privileges, from `prepare` to each recovery.
 * STACK_TOPOLOGY=cluster uses three brokers, three members and a cluster.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newSigningKey } from '#shared/access/signing-key-set.ts';
import { createApiClient } from '#test/api-client.ts';
import { debianRedis } from '#test/debian-redis.ts';
import { documentedCommands } from './documented-commands.ts';
import { orderMessage } from '#test/events.ts';
import { eventually } from '#test/eventually.ts';
import { PATIENCE } from '#test/patience.ts';
import { useFolder } from '#test/folder.ts';
import { killAll, listening, type ServiceProcess, startService } from '#test/service-process.ts';
import { times } from '#test/times.ts';
import {
  asDataUser,
  asKafkaUser,
  type KafkaUser,
  type PrivilegedServers,
  startPrivilegedServers,
} from '../secure-servers/privileges.ts';
import { runJson } from '../services/admin/run-command.ts';

const size = process.env['STACK_TOPOLOGY'] === 'cluster' ? 3 : 1;
const ORDERS = 2;

interface Key {
  client_id: string;
  client_secret: string;
}

describe(`a secured installation, set up only by the documents, on ${size === 1 ? 'single servers' : 'clusters'}`, () => {
  const folder = useFolder();
  let servers: PrivilegedServers;
  let common: Record<string, string>;
  const services = new Map<'projector' | 'query', ServiceProcess>();
  let url = '';
  const keys: Record<'s1' | 's2', Key> = { s1: noKey(), s2: noKey() };
  beforeAll(async () => {
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
    await killAll([...services.values()]);
    await servers?.close();
  });

  /** The settings of a process or command with its Kafka user. */
  const settingsOf = (user: KafkaUser): Record<string, string> => ({
    ...servers.env,
    ...common,
    ...asKafkaUser(user),
    ...(user === 'store-data-publisher' ? {} : asDataUser('store-data-projector')),
  });

  /** Runs a command as an operator. */
  const operate = (command: string | readonly string[]) =>
    runJson<unknown>(settingsOf('store-data-operator'), command);

  async function start(name: 'projector' | 'query', env: Record<string, string>) {
    const service = startService(name, env);
    services.set(name, service);
    return listening(service);
  }
  const startProjector = () => start('projector', settingsOf('store-data-projector'));

  async function endProjector(): Promise<void> {
    const projector = services.get('projector');
    projector?.kill('SIGTERM');
    await projector?.ended;
  }

  async function eventsFile(stores: string[]): Promise<string> {
    const path = join(folder, 'events.ndjson');
    const lines = stores.flatMap((storeId) =>
      times(ORDERS, (id) => `${orderMessage(`o${id}`, { storeId }).value}\n`),
    );
    await writeFile(path, lines.join(''));
    return path;
  }

  /** The number of a key's orders, or the status of the refusal. */
  async function answers({ client_id, client_secret }: Key): Promise<string> {
    const client = createApiClient(url);
    const asked = await client.askToken(client_id, client_secret);
    if (asked.status !== 200) return `no token: ${asked.status}`;
    const token = (asked.json as { access_token: string }).access_token;
    const { status, json } = await client.get('/api/order/list', token);
    return status === 200 ? `${(json as { count: number }).count} orders` : `no list: ${status}`;
  }
  const ALL = `${ORDERS} orders`;
  const untilAnswered = (key: Key, answer: string) =>
    eventually(`a key is answered ${answer}`, async () => (await answers(key)) === answer);

  const untilApplied = () =>
    eventually('the lag is 0', async () => ((await operate('lag')) as { lag: number }).lag === 0);

  /** Asserts that each key has exactly its former rights. */
  async function expectRecovered(): Promise<void> {
    await untilAnswered(keys.s2, ALL);
    expect(await answers(keys.s1)).toBe('no token: 401');
    const create = 'keys create --store s2 --environment production --scopes order';
    const made = (await operate(create)) as Key;
    await untilAnswered(made, ALL);
    expect(await operate('stores list')).toMatchObject([
      { store_id: 's1', blocked: true },
      { store_id: 's2', quota: { requests: 777 } },
      { store_id: 's3', blocked: true },
    ]);
    // The erased store's record does not return.
    expect(await operate('verify --deep')).toMatchObject({ differences: [], stores: 1 });
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
      const result = await runJson<unknown>(settingsOf(remark as KafkaUser), args);
      switch (args.slice(0, 2).join(' ')) {
        case 'prepare --partitions': {
          await startProjector();
          // The query service needs no Kafka user.
          const { KAFKA_TLS: _tls, KAFKA_TLS_CA_FILE: _ca, ...others } = servers.env;
          const env = { ...others, ...common, ...asDataUser('store-data-query') };
          ({ url } = await start('query', env));
          break;
        }
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
    await operate('quota set --store s2 --environment production --requests 777');
    await operate('stores block s3 --environment production');
    await expectRecovered();
  });

  it('recovers from the loss of Redis by itself, as documented', async () => {
    await servers.lose('redis');
    await expectRecovered();
  });

  it('recovers from the loss of MongoDB', async () => {
    await endProjector();
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
        await runJson(settingsOf('store-data-administrator'), words);
        const publish = ['publish', file, '--environment', 'production'];
        await runJson(settingsOf('store-data-publisher'), publish);
        await endProjector();
        await startProjector();
      } else if (words.slice(0, 2).join(' ') === 'generations drop') {
        const { generations } = (await operate('generations list')) as {
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
