import { describe, expect, it } from 'vitest';
import { describeLetter, structureOf } from '#admin/dead-letters/messages.ts';
import { toDeadLetter } from '#shared/projection/dead-letters/letter.ts';
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

  it('has a structure of bounded length and depth', () => {
    const wide = structureOf(Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`f${index}`, 1])));
    expect(wide).toHaveLength(61);
    expect(wide.at(-1)).toBe('…');
    let deep: unknown = 1;
    for (let level = 0; level < 500; level += 1) deep = [deep];
    expect(structureOf(deep).length).toBeLessThan(10);
  });
});
