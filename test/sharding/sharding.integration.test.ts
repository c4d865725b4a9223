/**
 * Support of a sharded MongoDB, tested without one: runs all features, and judges every sent
 * command like a router (`docs/sharding.md`).
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startProjector } from '#projector/projector.ts';
import { KINDS } from '#query/records/kinds.ts';
import { changesTopic } from '#shared/events/topics.ts';
import { createLogger } from '#shared/logging.ts';
import { DEAD_LETTERS } from '#shared/read-models/collections.ts';
import { compareAnswers } from '#test/comparison.ts';
import { MINIMAL } from '#test/changes.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import { Model } from '#test/model.ts';
import { type RunningApp, startApp } from '#test/query-service.ts';
import { question } from '#test/questions.ts';
import { caughtUp, erased, readModels } from '#test/read-models.ts';
import { judge, type Sent } from './shard-targeting.ts';
import { withSmallErasures } from '#test/small-erasures.ts';
import { withSmallTrees } from '#test/small-trees.ts';
import { stream, STREAM_STORES, type StreamEvent } from '#test/streams.ts';
import { fetchTokens, type PublishedKey, publishKeys } from '#test/tokens.ts';
import { watchCommands, watchedAddress } from './watched-commands.ts';
import { runCommand } from '../services/admin/run-command.ts';

const logger = createLogger('test', 'silent');
/** A fixed seed. */
const SEED = 20_261_122;
const QUESTIONS = 200;
/** A menu of so many records is read in pieces. */
const MANY = 1_001;

const PENDING = 'once a second; an index of what waits to be published, which is nothing as a rule';
const RECONCILED =
  'everything of an environment is compared with Redis: at a start, when Redis was replaced, every ten minutes';
const JOINED =
  'joined by id from the shard: naming the store would cost MongoDB a fifth of its time for this answer on any installation';

/** Commands that services send to every shard, with the reason. Operators' commands may do so. */
const TO_EVERY_SHARD: Record<string, string> = {
  'projector aggregate access_keys by environment, publish_pending': PENDING,
  'projector aggregate access_keys by environment, event_pending': PENDING,
  'projector aggregate store_access by environment, event_pending': PENDING,
  'projector aggregate store_access by environment, publish_pending': PENDING,
  'projector aggregate revoked_sessions by environment, publish_pending': PENDING,
  'query aggregate access_keys by environment, publish_pending': PENDING,
  'query aggregate store_access by environment, publish_pending': PENDING,
  'query aggregate revoked_sessions by environment, publish_pending': PENDING,
  'projector find access_keys by _id, environment': RECONCILED,
  'projector find store_access by _id, environment': RECONCILED,
  'projector find revoked_sessions by environment': RECONCILED,
  'query find access_keys by _id, environment': RECONCILED,
  'query find store_access by _id, environment': RECONCILED,
  'query find revoked_sessions by environment': RECONCILED,
  'projector find store_access by environment, erased':
    'once when it makes the first generation: whether erased stores were erased from this log',
  'projector aggregate dead_letters by topic':
    'the census, every few seconds: of all letters, by an index alone',
  'projector find dead_letters by customers':
    'a customer is deleted: a letter that names them may have come by another partition.',
  'projector find dead_letters by customers, positions': 'the same, for an erasure in pieces',
  'projector find dead_letters by dead_at, topic':
    'letters that expire, every few seconds: by an index alone',
  'projector find dropped_letters by partition, topic':
    'what operators have decided of a partition, read again each second',
  'projector find dropped_letters by from, partition, skip, to, topic': 'the same, for a slice',
  'projector find store_records_pending by nothing': 'once a second; empty as a rule',
  'projector find rewritings by nothing':
    'the stores that have erasures, once a second; empty as a rule',
  'projector aggregate erasures by nothing': 'how many are left, while there are some',
  'projector find checkpoints by topic':
    'once when it makes the first generation: whether the log of access is applied',
  'query find checkpoints by nothing': 'where partitions stand, while somebody waits for changes',
  'query find stamps by slice_end, slice_partition':
    'one look for all who wait for changes of any store: it asks what slices changed, not whose',
  'query aggregate categories by _id': JOINED,
  'query aggregate option_groups by _id': JOINED,
};

describe('every command to MongoDB', () => {
  let installation: Installation;
  let running: RunningApp;
  let keys: PublishedKey[];
  let tokens: Map<string, string>;
  const stopping: (() => unknown)[] = [];
  const watched: Sent[] = [];
  let sequence = 1_000;
  beforeAll(async () => {
    stopping.push(withSmallTrees(3, 3), withSmallErasures());
    installation = await createInstallation({
      partitions: 3,
      settings: {
        MONGODB_URI: watchedAddress(process.env['MONGODB_URI'] ?? ''),
        PROJECTOR_SLICE_EVENTS: '100',
      },
    });
    const { namePrefix } = installation.config;
    stopping.push(
      watchCommands((sent) => {
        if (sent.app !== 'test' && sent.database.startsWith(`${namePrefix}_`)) watched.push(sent);
      }),
    );
    await driveStreams();
    await driveDeadLetters();
    await driveFeed();
    await driveMoves();
    await driveCommands();
  });
  afterAll(async () => {
    for (const stop of stopping.toReversed()) await stop();
    await installation?.close();
  });

  const event = (entity: string, storeId: string, subject: string, data?: object): StreamEvent => {
    sequence += 1;
    const action = data === undefined ? 'deleted' : 'changed';
    return { entity, storeId, subject, sequence, action, ...(data === undefined ? {} : { data }) };
  };
  const command = async (words: string) => {
    const { code, stderr } = await runCommand(installation.env, words);
    expect([words, code, code === 0 ? '' : stderr]).toEqual([words, 0, '']);
  };

  it('names the shard key, and is allowed on sharded collections', () => {
    expect(new Set(watched.map(({ app }) => app))).toEqual(
      new Set(['projector', 'query', 'admin']),
    );
    const problems = watched.flatMap(judge);
    // The known broadcasts are detected.
    for (const known of [
      'query aggregate categories by _id',
      'projector find dead_letters by customers',
    ]) {
      expect(problems.map(({ where }) => where)).toContain(known);
    }
    const unexpected = problems.filter(
      ({ where, what }) =>
        what !== 'is sent to every shard' ||
        !(where.startsWith('admin ') || where in TO_EVERY_SHARD),
    );
    expect([...new Set(unexpected.map(({ where, what }) => `${where}: ${what}`))]).toEqual([]);
  });

  async function driveStreams(): Promise<void> {
    const { config } = installation;
    const [events = []] = fc.sample(stream, { seed: SEED, numRuns: 1 });
    const questions = fc.sample(question, { seed: SEED, numRuns: QUESTIONS });
    const model = new Model();
    for (const one of events) model.apply(one);
    keys = await publishKeys(installation, STREAM_STORES);
    await installation.publish(events);
    const projector = await startProjector(config, logger);
    stopping.push(() => projector.stop());
    running = await startApp(config);
    stopping.push(() => running.app.close());
    await caughtUp(installation);
    tokens = await fetchTokens(running.url, keys);
    await compareAnswers(model, running.api, tokens, questions);
  }

  async function driveDeadLetters(): Promise<void> {
    const order = (customer: string) => ({
      ...MINIMAL.order,
      total: '1',
      customer: { id: customer, name: 'Ana' },
    });
    await installation.publish([
      event('order', 's1', 'bad', order('c1')),
      event('order', 's1', 'bad', order('gone')),
      event('order', '__proto__', 'bad', order('c1')),
    ]);
    await installation.send(changesTopic(installation.environment), [
      { key: 's1', value: 'nothing' },
    ]);
    await caughtUp(installation);
    await installation.publish([event('customer', 's1', 'gone'), event('customer', 's1', 'c1')]);
    await caughtUp(installation);
    await erased(installation);
    expect(
      await (await readModels(installation)).collection(DEAD_LETTERS).countDocuments(),
    ).toBeGreaterThan(3);
    await command('dead-letters list');
    // They are still poison.
    expect((await runCommand(installation.env, 'dead-letters retry --all')).code).toBe(1);
    await command('dead-letters drop --all --yes');
  }

  async function driveFeed(): Promise<void> {
    const { api } = running;
    const token = tokens.get('s1') ?? '';
    let next = '';
    for (const kind of Object.keys(KINDS)) {
      const path = `/api/${kind.replace('_', '-')}/changes`;
      const first = await api.get(`${path}?page_size=2`, token);
      expect([path, first.status]).toEqual([path, 200]);
      ({ next } = first.json as { next: string });
      if (kind !== 'coupon') continue;
      const whole = (await api.get(`${path}?page_size=100`, token)).json as { next: string };
      const waiting = api.get(`${path}?after=${whole.next}&wait=30`, token);
      await installation.publish([event('coupon', 's1', 'n9', MINIMAL.coupon)]);
      expect((await waiting).json).toMatchObject({ results: [{ id: 'n9' }] });
    }
    expect(next).not.toBe('');
  }

  /** A new offset for every body, and a menu of many records. */
  async function driveMoves(): Promise<void> {
    const groups = Array.from({ length: MANY }, (_, at) => `many${at}`);
    await installation.publish([
      event('store', 's1', 's1', { ...MINIMAL.store, timezone_offset: '+09:00' }),
      ...groups.map((id) => event('option_group', 's1', id, MINIMAL.option_group)),
      event('category', 's1', 'k1', MINIMAL.category),
      event('product', 's1', 'p1', {
        ...MINIMAL.product,
        category_id: 'k1',
        option_group_ids: groups.slice(1, 3),
      }),
    ]);
    await caughtUp(installation);
    const menu = await running.api.get('/api/menu/', tokens.get('s1') ?? '');
    expect(menu.text).toContain('"many2"');
  }

  async function driveCommands(): Promise<void> {
    const ofStore = `-s s1 -e ${installation.environment}`;
    await command(`keys create ${ofStore} --scopes order`);
    await command('keys list');
    await command(`keys revoke ${keys.at(-1)?.clientId ?? ''}`);
    await command(`quota set ${ofStore} --requests 1000`);
    await command(`sessions list ${ofStore}`);
    await command('audit');
    await command('stores list');
    await command('stores show s1');
    await command('lag');
    await command('verify --repair');
    await command('verify --deep');
    await command('stores erase __proto__ --yes');
    await command('rebuild');
  }
});
