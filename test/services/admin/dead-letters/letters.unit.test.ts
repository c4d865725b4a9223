import { describe, expect, it } from 'vitest';
import { describeLetter, structureOf, toMessage, withMessage } from '#admin/dead-letters/messages.ts';
import { environmentsOf, type LetterSummary } from '#admin/dead-letters/letters.ts';
import { letterSlices } from '#admin/dead-letters/retry.ts';
import { readConfig } from '#shared/config.ts';
import { NOTHING_KEPT, toDeadLetter } from '#shared/projection/dead-letters/letter.ts';
import { EventRejected } from '#shared/events/rejection.ts';

const message = {
  key: Buffer.from('s1'),
  value: Buffer.from([0x7b, 0x00, 0xff]),
  headers: { ce_id: Buffer.from('1'), more: [Buffer.from('a'), Buffer.from([0xff])] },
  offset: '17',
  timestamp: '1700000000000',
  attributes: 0,
};
const rejection = new EventRejected('malformed', 'no');

describe('a dead letter', () => {
  it('becomes the message again that it was', () => {
    const back = toMessage(toDeadLetter('t', 3, message, rejection));
    expect(back).toEqual({ ...message, headers: { ce_id: [Buffer.from('1')], more: message.headers.more } });
    const empty = { ...message, key: null, value: null, headers: {} };
    expect(toMessage(toDeadLetter('t', 3, empty, rejection))).toEqual(empty);
    const whole = toDeadLetter('t', 0, message, rejection);
    const cut = { ...whole, ...NOTHING_KEPT };
    expect(toMessage(withMessage(cut, message))).toEqual(toMessage(whole));
  });

  it('is cut when not all of its bytes were kept', () => {
    const letter = toDeadLetter('t', 0, { ...message, value: Buffer.alloc(1_048_577) }, rejection);
    expect(letter.cut).toBe(true);
    expect(toDeadLetter('t', 0, { ...message, key: Buffer.alloc(70_000) }, rejection).cut).toBe(true);
    const headers = { a: Buffer.alloc(70_000), b: Buffer.from('kept') };
    const { cut, headers: kept, kept_bytes } = toDeadLetter('t', 0, { ...message, headers }, rejection);
    expect(cut).toBe(true);
    expect(kept.map(({ name }) => name)).toEqual(['b']);
    expect(kept_bytes).toBe(2 + 5 + 3);
    expect(toDeadLetter('t', 0, message, rejection).cut).toBeUndefined();
  });

  it('is described without what its data says', () => {
    const value = Buffer.from(
      JSON.stringify({
        specversion: '1.0',
        type: 'store-data.customer.changed',
        sequence: 5,
        extra: 'x',
        data: { name: 'Maria', addresses: [{ city: 'Recife' }], active: true, none: null },
      }),
    );
    const letter = toDeadLetter('t', 0, { ...message, headers: {}, value }, rejection);
    const { attributes, structure } = describeLetter(letter);
    expect(attributes).toEqual({ specversion: '1.0', type: 'store-data.customer.changed', sequence: '5' });
    expect(structure).toEqual([
      'data: object',
      '  name: text of 5',
      '  addresses: list of 1',
      '    [0]: object',
      '      city: text of 6',
      '  active: boolean',
      '  none: null',
    ]);
  });

  it('in binary mode has its attributes in the headers', () => {
    const headers = { ce_type: 'a\u001B[2J', CE_ID: '7' };
    const value = Buffer.from('{"name":"x"}');
    const letter = toDeadLetter('t', 0, { ...message, headers, value }, rejection);
    expect(describeLetter(letter)).toEqual({
      attributes: { id: '7', type: String.raw`a\u001b[2J` },
      structure: ['data: object', '  name: text of 1'],
    });
  });

  it('that is no JSON has no structure', () => {
    expect(describeLetter(toDeadLetter('t', 0, message, rejection)).structure).toBeNull();
  });

  it('has a structure of bounded length and depth', () => {
    const wide = structureOf(Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`f${index}`, 1])));
    expect(wide).toHaveLength(61);
    expect(wide.at(-1)).toBe('…');
    let deep: unknown = 1;
    for (let level = 0; level < 500; level += 1) deep = [deep];
    expect(structureOf(deep).length).toBeLessThan(10);
  });
});

describe('slices of letters', () => {
  it('hold one partition each, and neither too many letters nor too many bytes', async () => {
    const same = { topic: 't', detail: '', key: null, published_at: new Date(0), dead_at: new Date(0) };
    const summary = (partition: number, offset: number, value_bytes: number): LetterSummary => {
      const _id = `t/${partition}/${offset}`;
      return { ...same, _id, partition, offset, reason: 'malformed', value_bytes };
    };
    const letters = [
      ...Array.from({ length: 250 }, (_, offset) => summary(0, offset, 10)),
      ...Array.from({ length: 5 }, (_, offset) => summary(1, offset, 1_048_576)),
      { ...summary(2, 0, 0), gathered: { count: 9, last_offset: 99 } },
      summary(2, 1, 0),
    ];
    async function* all() {
      for (const letter of letters) {
        await Promise.resolve();
        yield letter;
      }
    }
    const slices: LetterSummary[][] = [];
    for await (const slice of letterSlices(all())) slices.push(slice);
    expect(slices.map((slice) => slice.length)).toEqual([100, 100, 50, 4, 1, 1, 1]);
    expect(slices.flat()).toEqual(letters);
  });
});

it('asks the servers of those environments alone whose letters are meant', () => {
  const config = readConfig({ KAFKA_BROKERS: 'k:1', MONGODB_URI: 'mongodb://m', REDIS_URL: 'redis://r' });
  expect(environmentsOf(config, [])).toEqual(['production', 'sandbox']);
  expect(environmentsOf(config, [], 'sandbox')).toEqual(['sandbox']);
  expect(environmentsOf(config, ['store-changes.sandbox/0/1', 'store-changes.sandbox/1/7'])).toEqual(['sandbox']);
  expect(environmentsOf(config, ['store-access.production/0/1', 'other/0/1'])).toEqual(['production']);
});
