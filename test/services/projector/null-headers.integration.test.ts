/** Whatever the headers of a message are, it is applied or becomes a dead letter, and nothing behind it waits. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { controlCollections } from '#shared/access/access-keys.ts';
import { encodeEvent } from '#shared/events/encode.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { DEAD_LETTERS, type DeadLetter } from '#shared/read-models/collections.ts';
import { controlDatabase } from '#shared/read-models/databases.ts';
import { eventually } from '#test/installation.ts';
import { type QueryService, startQueryService } from '#test/query-service.ts';
import { produceRaw } from '#test/raw-produce.ts';
import { readModels } from '#test/read-models.ts';
import { encodeBatch, type RecordToEncode } from '#test/record-batches.ts';
import { runCommand } from '../admin/run-command.ts';

type Headers = NonNullable<RecordToEncode['headers']>;

const BYTES = Buffer.from([0xff, 0x00, 0xfe]);
/** Of poison: each of these made the making of its letter fail, or would. */
const POISONOUS: Record<string, Headers> = {
  'a null attribute': [['ce_id', null]],
  'a repeated header of which one value is null': [
    ['x', null],
    ['x', Buffer.from('1')],
    ['ce_type', null],
    ['ce_type', BYTES],
  ],
  'names that mean something to JavaScript': [
    ['__proto__', null],
    ['__proto__', BYTES],
    ['constructor', Buffer.from('x')],
    ['', null],
  ],
  'a name that is not UTF-8': [[BYTES, BYTES]],
};
/** Of events that are right. */
const HARMLESS: Record<string, Headers> = {
  'null attributes': [
    ['ce_id', null],
    ['content-type', null],
  ],
  'bytes in another header': [
    ['content-type', Buffer.from('application/cloudevents+json')],
    ['trace-bin', BYTES],
    ['baggage', null],
  ],
};

let service: QueryService;
beforeAll(async () => {
  service = await startQueryService();
});
afterAll(() => service?.close());

const control = () => controlDatabase(service.installation.mongodb, service.installation.config.namePrefix);

function record(event: Omit<Parameters<typeof encodeEvent>[0], 'source'>, headers: Headers): RecordToEncode {
  const { key, value } = encodeEvent({ ...event, source: '/test' });
  return { key: Buffer.from(key), value: Buffer.from(value), headers };
}

async function send(topic: string, records: RecordToEncode[]): Promise<void> {
  const { kafka } = service.installation;
  const timestamp = BigInt(Date.now());
  for (const one of records) {
    await produceRaw(kafka, { topic, partition: 0 }, encodeBatch({ records: [one], timestamp }));
  }
}

const order = (subject: string) => ({
  entity: 'order' as const,
  storeId: 's1',
  subject,
  sequence: 1,
  data: { status: 'pending', order_type: 'delivery', total: '1.00', created_at: '2026-03-01T12:00:00Z' },
});

describe('a message on the changes topic', () => {
  it('is applied or a dead letter, whatever its headers are', async () => {
    const db = await readModels(service.installation);
    const letters = db.collection<DeadLetter>(DEAD_LETTERS);
    const topic = changesTopic(service.installation.environment);
    const poison = Object.values(POISONOUS).map((headers) => ({
      key: Buffer.from('s1'),
      value: Buffer.from('not an event'),
      headers,
    }));
    const harmless = Object.values(HARMLESS).map((headers, at) => record(order(`h${at}`), headers));
    await send(topic, [...poison, ...harmless, record(order('behind'), [])]);
    const stored = async () => (await db.collection('orders').find().toArray()).map(({ _id }) => String(_id));
    await eventually(
      'what is behind them is applied',
      async () => (await stored()).includes('s1/behind'),
      30_000,
    );
    expect((await stored()).toSorted()).toEqual(['s1/behind', ...harmless.map((_, at) => `s1/h${at}`)]);
    const found = await letters.find({}, { sort: { offset: 1 } }).toArray();
    // With their bytes, so that the letter is not the last resort's.
    expect(found.map(({ offset, reason, value }) => [offset, reason, value?.toString()])).toEqual(
      poison.map((_, at) => [at, expect.stringMatching(/^(?:malformed|not_a_cloud_event)$/), 'not an event']),
    );
    for (const { _id } of found) {
      const shown = await runCommand(service.installation.env, ['dead-letters', 'show', _id, '--value']);
      expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining('not an event') });
    }
    const retried = await runCommand(service.installation.env, ['dead-letters', 'retry', '--all']);
    expect(retried.stdout).toContain(`still dead ${poison.length}`);
  });
});

describe('a key that is revoked', () => {
  it('is refused, whatever the headers of a poison message before it are', async () => {
    await service.setKey({ clientId: 'client' });
    const token = await service.api.token('client', 'secret');
    expect((await service.api.get('/api/order/list', token)).status).toBe(200);
    const topic = accessTopic(service.installation.environment);
    const revocation = {
      entity: 'access_key' as const,
      storeId: 's1',
      subject: 'client',
      sequence: 9,
      data: { status: 'revoked' },
    };
    const poison = Object.values(POISONOUS).map((headers) => ({ key: null, value: null, headers }));
    await send(topic, [...poison, record(revocation, [['ce_id', null]])]);
    await eventually(
      'the token is refused',
      async () => (await service.api.get('/api/order/list', token)).status === 401,
      30_000,
    );
    const key = await controlCollections(control()).keys.findOne({ _id: 'client' });
    expect(key?.status).toBe('revoked');
    expect(await control().collection(DEAD_LETTERS).countDocuments()).toBe(poison.length);
  });
});
