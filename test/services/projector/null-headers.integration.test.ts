/** Whatever the headers of a message are, it is applied or becomes a dead letter, and nothing behind it waits. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { controlCollections } from '#shared/access/access-keys.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { DEAD_LETTERS, type DeadLetter } from '#shared/read-models/collections.ts';
import { keyEvent, orderEvent, type TestEvent } from '#test/events.ts';
import { eventually } from '#test/installation.ts';
import { type QueryService, startQueryService } from '#test/query-service.ts';
import { produceRaw } from '#test/raw-produce.ts';
import { idsIn, readModels } from '#test/read-models.ts';
import { encodeBatch, type RecordToEncode } from '#test/record-batches.ts';
import { runCommand } from '../admin/run-command.ts';
import { encodeEvent } from '#shared/events/encode.ts';

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

const control = () => service.installation.databases.control;

function record(event: TestEvent, headers: Headers): RecordToEncode {
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

describe('a message on the changes topic', () => {
  it('is applied or a dead letter, whatever its headers are', async () => {
    const db = await readModels(service.installation);
    const letters = db.collection<DeadLetter>(DEAD_LETTERS);
    const topic = changesTopic(service.installation.environment);
    const noEvent = { key: Buffer.from('s1'), value: Buffer.from('not an event') };
    const poison = Object.values(POISONOUS).map((headers) => ({ ...noEvent, headers }));
    const harmless = Object.values(HARMLESS).map((headers, at) => record(orderEvent(`h${at}`), headers));
    await send(topic, [...poison, ...harmless, record(orderEvent('behind'), [])]);
    const stored = () => idsIn(db, 'orders');
    await eventually('what is behind them is applied', async () => (await stored()).includes('s1/behind'));
    expect(await stored()).toEqual(['s1/behind', ...harmless.map((_, at) => `s1/h${at}`)]);
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
    const revocation = keyEvent('client', 9, { status: 'revoked' });
    const poison = Object.values(POISONOUS).map((headers) => ({ key: null, value: null, headers }));
    await send(topic, [...poison, record(revocation, [['ce_id', null]])]);
    await eventually('the token is refused', async () => {
      return (await service.api.get('/api/order/list', token)).status === 401;
    });
    const key = await controlCollections(control()).keys.findOne({ _id: 'client' });
    expect(key?.status).toBe('revoked');
    expect(await control().collection(DEAD_LETTERS).countDocuments()).toBe(poison.length);
  });
});
