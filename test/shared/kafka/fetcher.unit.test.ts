/** What a partition's read waits for: its own broker, and nothing of others. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { unavailable } from '#shared/errors.ts';
import {
  type Answer,
  type Brokers,
  type Fetched,
  Fetcher,
  type FetchRequest,
} from '#shared/kafka/fetcher.ts';
import { systemClock } from '#shared/waiting.ts';

const answer = (next: number): Answer => ({ messages: [], next, end: 9, isOutside: false });

/** A fetcher of brokers that answer each request by a function. */
function fetching(
  fetch: (broker: number, request: FetchRequest) => Promise<Fetched>,
  leaders: (number | null)[],
) {
  const closing = new AbortController();
  onTestFinished(() => closing.abort());
  const requests: { broker: number; lane: number; from: [partition: number, from: number][] }[] =
    [];
  const waits: string[] = [];
  let refreshed = () => undefined as void;
  const brokers: Brokers = {
    leaderOf: (partition) => leaders[partition] ?? null,
    refresh: async () => refreshed(),
    fetch: (broker, request) => {
      const { lane, partitions } = request;
      requests.push({
        broker,
        lane,
        from: partitions.map(({ partition, from }) => [partition, from]),
      });
      return fetch(broker, request);
    },
  };
  const fetcher = new Fetcher({
    brokers,
    clock: systemClock,
    waits: (partitions, why) => waits.push(`${partitions.join()}: ${why}`),
  });
  const read = (partition: number, from = 0, atEnd = false, signal = closing.signal) =>
    fetcher.read(partition, { from, bytes: 1, atEnd }, signal);
  return { read, requests, waits, onRefresh: (then: () => void) => (refreshed = then) };
}

/** Answers each partition with the offset behind the requested one. */
const onward = async ({ partitions }: FetchRequest): Promise<Fetched> => ({
  throttleMs: 0,
  partitions: partitions.map(({ partition, from }) => ({
    partition,
    read: async () => answer(from + 1),
  })),
});

describe('a read', () => {
  it('shares a request with others of its broker, each from its own offset', async () => {
    const { read, requests } = fetching((_, request) => onward(request), [1, 1, 2]);
    const read3 = await Promise.all([read(0, 5), read(1, 7), read(2, 9)]);
    expect(read3.map((one) => one?.next)).toEqual([6, 8, 10]);
    expect(requests).toEqual([
      {
        broker: 1,
        lane: 0,
        from: [
          [0, 5],
          [1, 7],
        ],
      },
      { broker: 2, lane: 0, from: [[2, 9]] },
    ]);
  });

  it('of a partition that is behind does not wait for partitions at their end, or for a silent broker', async () => {
    const never = new Promise<Fetched>(() => undefined);
    const { read } = fetching(
      async (broker, request) => (request.lane > 1 || broker === 2 ? never : onward(request)),
      [1, 1, 2],
    );
    void read(0, 0, true);
    void read(2);
    expect((await read(1))?.next).toBe(1);
    expect((await read(1, 1))?.next).toBe(2);
  });

  it('does not wait while its broker brings the backlog of another partition', async () => {
    const never = new Promise<Fetched>(() => undefined);
    const { read } = fetching(
      async (_, request) => (request.lane === 0 ? never : onward(request)),
      [1, 1],
    );
    void read(0);
    await systemClock.sleep(20);
    expect((await read(1, 5))?.next).toBe(6);
  });

  it('of a partition that reaches its end does not wait for others that wait there', async () => {
    const never = new Promise<Fetched>(() => undefined);
    const { read, requests } = fetching(
      async (_, request) => (request.lane === 2 ? never : onward(request)),
      [1, 1],
    );
    void read(0, 0, true);
    await systemClock.sleep(20);
    expect((await read(1, 5, true))?.next).toBe(6);
    expect(requests.map(({ lane }) => lane)).toEqual([2, 3]);
  });

  it('waits while its partition has no leader, as others go on, and continues with a new one', async () => {
    const leaders: (number | null)[] = [null, 1];
    const { read, waits, onRefresh } = fetching((_, request) => onward(request), leaders);
    const waiting = read(0);
    expect((await read(1))?.next).toBe(1);
    expect(waits).toContain('0: no leader');
    onRefresh(() => (leaders[0] = 1));
    expect((await waiting)?.next).toBe(1);
  });

  it('begins again with the leader of now where its partition has moved, or its broker fails', async () => {
    const leaders = [1, 2];
    const { read, requests, onRefresh } = fetching(async (broker, request) => {
      if (broker === 2) throw unavailable('down');
      const moved = {
        throttleMs: 0,
        partitions: [{ partition: 0, read: async () => 'moved' as const }],
      };
      return broker === 1 ? moved : onward(request);
    }, leaders);
    onRefresh(() => leaders.splice(0, 2, 3, 3));
    expect((await Promise.all([read(0), read(1)])).map((one) => one?.next)).toEqual([1, 1]);
    expect(requests.at(-1)).toMatchObject({ broker: 3 });
  });

  it('asks again for a partition that the answer leaves out, after the time that the broker wants', async () => {
    let throttled = 0;
    const { read } = fetching(
      async (_, request) => {
        if (throttled > 0) return onward(request);
        throttled = performance.now();
        return { throttleMs: 150, partitions: [] };
      },
      [1],
    );
    expect((await read(0))?.next).toBe(1);
    expect(performance.now() - throttled).toBeGreaterThan(140);
  });

  it('gets nothing of an answer that comes after it was given up', async () => {
    const gate = Promise.withResolvers<void>();
    const { read } = fetching(
      async (_, request) => {
        await gate.promise;
        return onward(request);
      },
      [1],
    );
    const given = new AbortController();
    const late = read(0, 0, false, given.signal);
    await systemClock.sleep(20);
    given.abort();
    expect(await late).toBeNull();
    const next = read(0, 7);
    gate.resolve();
    expect((await next)?.next).toBe(8);
  });

  it('fails alone if its partition is refused', async () => {
    const refused = { partition: 0, read: () => Promise.reject(new Error('refused')) };
    const { read } = fetching(
      async (_, request) => {
        const { partitions, ...others } = await onward(request);
        return {
          ...others,
          partitions: partitions.map((one) => (one.partition === 0 ? refused : one)),
        };
      },
      [1, 1],
    );
    const [first, second] = await Promise.allSettled([read(0), read(1)]);
    expect([first, second]).toMatchObject([
      { reason: { message: 'refused' } },
      { value: { next: 1 } },
    ]);
  });
});
