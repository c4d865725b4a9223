/** What a partition's read waits for: its own broker, and nothing of others. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { unavailable } from '#shared/errors.ts';
import {
  type Answer,
  type Brokers,
  createFetcher,
  type Fetched,
  type FetchRequest,
} from '#shared/kafka/fetcher.ts';
import { systemClock } from '#shared/waiting.ts';

const answer = (next: number): Answer => ({ messages: [], next, end: 9, isOutside: false });

/** A fetcher of brokers that answer each request by a function. */
function fetching(
  fetch: (request: FetchRequest, broker: number) => Promise<Fetched>,
  leaders: (number | null)[],
) {
  const closing = new AbortController();
  onTestFinished(() => closing.abort());
  const requests: { broker: number; lane: number }[] = [];
  const waits: string[] = [];
  let refreshed = () => undefined as void;
  const brokers: Brokers = {
    leaderOf: (partition) => leaders[partition] ?? null,
    refresh: async () => refreshed(),
    fetch: (broker, request) => {
      requests.push({ broker, lane: request.lane });
      return fetch(request, broker);
    },
  };
  const fetcher = createFetcher({
    brokers,
    clock: systemClock,
    waits: (partition, why) => waits.push(`${partition}: ${why}`),
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

const never = new Promise<Fetched>(() => undefined);

describe('a read', () => {
  it('shares a request with others of its broker, each from its own offset', async () => {
    const { read, requests } = fetching(onward, [1, 1, 2]);
    const answers = await Promise.all([read(0, 5), read(1, 7), read(2, 9)]);
    expect(answers.map((one) => one?.next)).toEqual([6, 8, 10]);
    expect(requests.map(({ broker }) => broker)).toEqual([1, 2]);
  });

  it.each([
    ['is behind does not wait for others at their end', { silent: 2, atEnd: false, used: 0 }],
    ['is behind does not wait for the backlog of another', { silent: 0, atEnd: false, used: 1 }],
    ['reaches its end does not wait for others there', { silent: 2, atEnd: true, used: 3 }],
  ])('of a partition that %s', async (_what, { silent, atEnd, used }) => {
    const { read, requests } = fetching(
      (request) => (request.lane === silent ? never : onward(request)),
      [1, 1],
    );
    void read(0, 0, silent === 2);
    await systemClock.sleep(20);
    expect((await read(1, 5, atEnd))?.next).toBe(6);
    expect(requests.map(({ lane }) => lane)).toEqual([silent, used]);
  });

  it('waits while its partition has no leader or a silent one, as others go on, and continues with a new one', async () => {
    const leaders: (number | null)[] = [null, 1, 2];
    const { read, requests, waits, onRefresh } = fetching(
      (request, broker) => (broker === 2 ? never : onward(request)),
      leaders,
    );
    const waiting = read(0);
    void read(2);
    expect((await read(1))?.next).toBe(1);
    expect(waits).toContain('0: no leader');
    expect(requests).toContainEqual({ broker: 1, lane: 0 });
    onRefresh(() => (leaders[0] = 1));
    expect((await waiting)?.next).toBe(1);
  });

  it('begins again with the leader of now where its partition has moved, or its broker fails', async () => {
    const leaders = [1, 2];
    const { read, requests, onRefresh } = fetching(async (request, broker) => {
      if (broker === 2) throw unavailable('down');
      const moved = { partition: 0, read: async () => 'moved' as const };
      return broker === 1 ? { throttleMs: 0, partitions: [moved] } : onward(request);
    }, leaders);
    onRefresh(() => leaders.splice(0, 2, 3, 3));
    expect((await Promise.all([read(0), read(1)])).map((one) => one?.next)).toEqual([1, 1]);
    expect(requests.at(-1)).toMatchObject({ broker: 3 });
  });

  it('asks again for a partition that the answer leaves out, after the time that the broker wants', async () => {
    let throttled = 0;
    const { read } = fetching(
      async (request) => {
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
    const { read } = fetching((request) => gate.promise.then(() => onward(request)), [1]);
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
      async (request) => {
        const { throttleMs, partitions } = await onward(request);
        return { throttleMs, partitions: [refused, ...partitions.slice(1)] };
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
