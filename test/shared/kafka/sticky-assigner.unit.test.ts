import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dealOut, type Owned } from '#shared/kafka/sticky-assigner.ts';
import { times } from '#test/times.ts';

const upTo = (count: number) => times(count, (partition) => partition);
const nothing: Owned = new Map();
/** Members with arbitrary claims, including partitions of others and deleted ones. */
const members = fc
  .uniqueArray(
    fc.record({
      id: fc.uuid(),
      owned: fc.array(fc.tuple(fc.nat(45), fc.integer({ min: -1, max: 9 }))),
    }),
    { minLength: 1, maxLength: 9, selector: ({ id }) => id },
  )
  .map((all) => new Map(all.map(({ id, owned }): [string, Owned] => [id, new Map(owned)])));

const having = (dealt: ReadonlyMap<string, readonly number[]>) =>
  new Map([...dealt].map(([id, own]): [string, Owned] => [id, new Map(own.map((at) => [at, 7]))]));

describe('the assignment of partitions', () => {
  it('gives each partition to one member, in balanced numbers, for any claims', () => {
    fc.assert(
      fc.property(members, fc.integer({ min: 0, max: 40 }), (had, count) => {
        const dealt = dealOut(upTo(count), had);
        expect([...dealt.values()].flat().toSorted((a, b) => a - b)).toEqual(upTo(count));
        const sizes = [...dealt.values()].map(({ length }) => length);
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
        // Another assignment moves nothing.
        for (const [member, own] of dealOut(upTo(count), having(dealt)))
          expect(own).toEqual(dealt.get(member)?.toSorted((a, b) => a - b));
      }),
    );
  });

  it('moves no partition of the others when a member is replaced', () => {
    const before = dealOut(upTo(120), new Map(['a', 'b', 'c', 'd'].map((id) => [id, nothing])));
    const had = having(before);
    had.delete('b');
    had.set('e', nothing);
    const after = dealOut(upTo(120), had);
    for (const member of ['a', 'c', 'd']) expect(after.get(member)).toEqual(before.get(member));
    expect(after.get('e')).toEqual(before.get('b'));
  });

  it('keeps a contested partition at the member that applied more of it', () => {
    const had = new Map<string, Owned>([
      ['resumed', new Map([[0, 10]])],
      ['owner', new Map([[0, 11]])],
    ]);
    expect(dealOut([0, 1], had)).toEqual(
      new Map([
        ['resumed', [1]],
        ['owner', [0]],
      ]),
    );
  });
});
