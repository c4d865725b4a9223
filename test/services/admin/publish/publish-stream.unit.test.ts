/** `publish` reads a stream of lines. */
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type EventLine,
  type Line,
  linesIn,
  noCounts,
  publishStream,
  readEventLine,
} from '#admin/publish/publish-stream.ts';
import { EventRejected } from '#shared/events/rejection.ts';
import { rejectionOf } from '#test/events.ts';
import { times } from '#test/times.ts';
import { runCommand } from '../run-command.ts';
import { orderEvent, orderLine } from './events.ts';

it('`publish` reports its progress when Kafka fails', async () => {
  let sent = 0;
  const counts = noCounts();
  const publishing = publishStream({
    input: Readable.from(times(500, (line) => Buffer.from(`${orderLine('s1', `o${line}`)}\n`))),
    send: async (_topic, messages) => {
      if (sent > 0) throw new Error('broker is gone');
      sent += messages.length;
    },
    environment: 'test',
    signal: new AbortController().signal,
    counts,
    stored: async () => new Map(),
    report: () => undefined,
  });
  await expect(publishing).rejects.toThrow('broker is gone');
  expect(counts).toMatchObject({ sent, doneUpToLine: sent });
  expect(sent).toBeLessThan(500);
});

async function split(chunks: Iterable<Buffer>, maxBytes: number): Promise<Line[]> {
  return (await Array.fromAsync(linesIn(Readable.from(chunks), maxBytes))).flat();
}

describe('splitting lines', () => {
  it('accepts a line of exactly the maximum length with either line end, and no longer one', async () => {
    const lines = await split([Buffer.from('12345\n12345\r\n123456\n12345\rx\n123456')], 5);
    expect(lines.map(({ bytes, length }) => [bytes?.toString() ?? null, length])).toEqual([
      ['12345', 5],
      ['12345', 5],
      [null, 6],
      [null, 7],
      [null, 6],
    ]);
  });

  it('does not depend on chunk boundaries', async () => {
    const piece = fc.constantFrom('a', 'é', '{"x":1}', '\r', '\n', '\r\n', '');
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        async (pieces, size) => {
          const whole = Buffer.from(pieces.join(''));
          const chunks = times(Math.ceil(whole.length / size), (index) =>
            whole.subarray(index * size, (index + 1) * size),
          );
          expect(await split(chunks, 6)).toEqual(await split([whole], 6));
        },
      ),
    );
  });
});

function read(text: string | Buffer, number = 1): EventLine | null {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  return readEventLine({ number, bytes, length: bytes.length });
}

describe('a line of NDJSON', () => {
  it('yields its store wherever and however the attribute is written', () => {
    const { data, ...attributes } = orderEvent('s1', 'o1') as { data: object };
    const deceiving = JSON.stringify({ data: { ...data, storeid: 'other' }, ...attributes });
    const line = orderLine('s1', 'o1');
    for (const text of [
      deceiving,
      line.replace('"storeid"', String.raw`"store\u0069d"`),
      // JSON uses the last of two.
      line.replace('{', '{"storeid":"first",'),
    ]) {
      expect(read(text)).toMatchObject({ channel: 'changes', storeId: 's1' });
    }
  });

  it('is sent unchanged, except a byte order mark at the beginning of the file', () => {
    const text = ` ${orderLine('s1', 'o1')} `;
    expect(read(text)?.value.toString('utf8')).toBe(text);
    expect(read(`\u{FEFF}${text}`)?.value.toString('utf8')).toBe(text);
    expect(() => read(`\u{FEFF}${text}`, 2)).toThrow(EventRejected);
  });

  it.each([
    ['invalid_attribute', { storeid: undefined }],
    ['unknown_type', { type: 'store-data.access_key.deleted' }],
    ['invalid_data', { type: 'store-data.store_access.changed', subject: 's1' }],
  ])('is %s with %j', (reason, over) => {
    expect(rejectionOf(() => read(orderLine('s1', 'o1', over)))?.reason).toBe(reason);
  });
});

describe('publish --check, without any server', () => {
  const check = (lines: string[], ...flags: string[]) =>
    runCommand({}, ['publish', '-', '--check', ...flags], { input: `${lines.join('\n')}\n` });

  it('lists all mistakes of an event, and unknown fields with the nearest name', async () => {
    const order = orderEvent('s1', 'o1') as { data: object };
    const data = { ...order.data, status: 'lost', total: '1', custmer: null, xyz: 1 };
    const { code, stdout, stderr } = await check([
      JSON.stringify({ ...order, sequence: '-1', time: 'now', data }),
      JSON.stringify({ ...order, data: { ...order.data, item: [] } }),
    ]);
    expect([code, stdout]).toEqual([
      1,
      '1 are events, 1 are not; 3 fields are unknown and ignored\n',
    ]);
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^line 1: invalid_attribute: time is not/),
      expect.stringMatching(/^line 1: invalid_attribute: sequence is not/),
      expect.stringMatching(/^line 1: invalid_data: data\.status must be one of/),
      expect.stringMatching(/^line 1: invalid_data: data\.total /),
      'line 1: unknown_field: data.custmer is unknown and ignored; the nearest is customer',
      'line 1: unknown_field: data.xyz is unknown and ignored',
      'line 2: unknown_field: data.item is unknown and ignored; the nearest is items',
    ]);
  });
});
