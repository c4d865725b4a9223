import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { batched } from '#query/batched.ts';
import { times } from '#test/times.ts';

/** Reads that the test ends, in the order of their begin. */
function heldReads() {
  const begun: string[][] = [];
  const ends: (() => void)[] = [];
  const readMany = async (ids: readonly string[]): Promise<string[]> => {
    begun.push([...ids]);
    await new Promise<void>((resolve) => ends.push(resolve));
    return ids.map((id) => id.toUpperCase());
  };
  return { begun, readMany, end: () => ends.shift()?.() };
}

describe('batched reads', () => {
  it('never join a read in progress, and wait while the maximum number is in progress', async () => {
    const { begun, readMany, end } = heldReads();
    const read = batched(readMany, { underWay: 2, requests: 10 });
    const found: Promise<string | null>[] = [];
    for (const id of ['a', 'a', 'b', 'c']) {
      found.push(read(id));
      await turn();
    }
    expect(begun).toEqual([['a'], ['a']]);
    end();
    expect(await found[0]).toBe('A');
    await turn();
    expect(begun).toEqual([['a'], ['a'], ['b', 'c']]);
    end();
    end();
    expect(await Promise.all(found)).toEqual(['A', 'A', 'B', 'C']);
  });

  it('read equal requests once, by their key', async () => {
    const begun: string[][] = [];
    const readMany = async (asked: readonly { id: string }[]) => {
      begun.push(asked.map(({ id }) => id));
      return asked.map(({ id }) => (id === 'none' ? undefined : id.toUpperCase()));
    };
    const read = batched(readMany, { underWay: 1, requests: 10 }, JSON.stringify);
    const found = ['a', 'b', 'a', 'none'].map((id) => read({ id }));
    expect(await Promise.all(found)).toEqual(['A', 'B', 'A', null]);
    expect(begun).toEqual([['a', 'b', 'none']]);
  });

  it('omit ids whose requests were all aborted', async () => {
    const { begun, readMany, end } = heldReads();
    const read = batched(readMany, { underWay: 1, requests: 2 });
    const dropped = ['b', 'c', 'd'].map((id) => read(id, AbortSignal.abort()));
    const found = Promise.all([read('d'), read('e')]);
    expect((await Promise.allSettled(dropped)).map(({ status }) => status)).toEqual(
      times(3, () => 'rejected'),
    );
    expect(begun).toEqual([['d', 'e']]);
    end();
    expect(await found).toEqual(['D', 'E']);
  });
});
