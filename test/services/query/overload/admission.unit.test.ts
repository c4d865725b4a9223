import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createMetrics } from '#query/metrics.ts';
import { createAdmission, type AdmittedRequest, MAX_IN_FLIGHT } from '#query/overload/admission.ts';
import { createLogger } from '#shared/logging.ts';
import { times } from '#test/times.ts';

const LATENCY_MS = 100;

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());
const pass = (milliseconds: number) => void vi.advanceTimersByTime(milliseconds);

class Response extends EventEmitter {
  status = 0;
  writableEnded = false;
  writableNeedDrain = false;
  writableLength = 0;
  socket = { bytesWritten: 0, destroyed: false, destroy: () => this.cut() };
  cut() {
    this.socket.destroyed = true;
    this.emit('close');
  }
  writeHead(status: number) {
    this.status = status;
  }
  end() {
    this.writableEnded = true;
  }
}

let busyShare = 0;
beforeEach(() => void (busyShare = 0));

function start(whenBegun?: (entry: AdmittedRequest | null, response: Response) => void) {
  const begun: Response[] = [];
  const admission = createAdmission({
    latencyMs: LATENCY_MS,
    senderOf: ({ headers }) => headers.host ?? '',
    busyShare: () => busyShare,
    metrics: createMetrics(),
    logger: createLogger('query', 'silent'),
  });
  const waits: (number | undefined)[] = [];
  const listener = admission.before((_, response) => {
    begun.push(response as never);
    waits.push(admission.beginning?.queuedMs);
    whenBegun?.(admission.beginning, response as never);
  });
  const ask = (host = 'one', url = '/api/order/list') => {
    const response = new Response();
    const request = { url, headers: { host }, socket: response.socket };
    listener(request as unknown as IncomingMessage, response as unknown as ServerResponse);
    return response;
  };
  const many = (count: number, host = 'one') => times(count, () => ask(host));
  const turns = async (count = 10) => {
    for (let turn = 0; turn < count; turn += 1) await nextTurn();
  };
  const begunOf = (responses: Response[]) =>
    responses.filter((response) => begun.includes(response));
  return { admission, begun, begunOf, waits, ask, many, turns };
}

const end = (responses: Response[]) => {
  for (const response of responses) response.emit('close');
};
const refusedOf = (responses: Response[]) => responses.filter(({ status }) => status === 503);

describe('requests in flight', () => {
  it('are limited; excess ones wait, and are refused while no request ends for long, but for /health', async () => {
    const { begun, many, ask, turns } = start();
    const asked = many(MAX_IN_FLIGHT + 10);
    await turns();
    expect(begun).toEqual(asked.slice(0, MAX_IN_FLIGHT));
    end(asked.slice(0, 1));
    await turns();
    expect(begun).toEqual(asked.slice(0, MAX_IN_FLIGHT + 1));
    pass(3 * LATENCY_MS);
    expect(refusedOf(asked)).toEqual([]);
    pass(LATENCY_MS);
    expect(refusedOf(asked)).toEqual(asked.slice(MAX_IN_FLIGHT + 1));
    expect(ask().status).toBe(503);
    const health = ask('one', '/health?x=1');
    expect([health.status, begun.at(-1)]).toEqual([0, health]);
    end(asked);
    pass(LATENCY_MS + 1);
    const burst = many(500);
    await turns();
    expect(refusedOf(burst)).toEqual([]);
  });

  it('do not include requests whose clients only have to read the answer', async () => {
    const { begun, many, turns, ask } = start();
    const asked = many(MAX_IN_FLIGHT);
    await turns();
    for (const response of asked) response.writableEnded = true;
    pass(LATENCY_MS + 1);
    const next = ask();
    await turns(1);
    expect(begun.at(-1)).toBe(next);
  });
});

describe('requests of a sender with many', () => {
  const FEW = 16;

  it('begin a few at a time while others ask too and the event loop is busy, and are not refused', async () => {
    const { begun, begunOf, many, ask, turns } = start();
    busyShare = 1;
    ask('modest');
    const greedy = many(MAX_IN_FLIGHT, 'greedy');
    // Many in all: requests that wait so long are refused otherwise.
    const modest = times(FEW / 2, (sender) => ask(`modest ${sender}`));
    pass(LATENCY_MS);
    end([...begun]);
    await turns();
    const before = begunOf(greedy);
    pass(5 * LATENCY_MS);
    ask('modest');
    await turns();
    expect(begunOf(greedy)).toEqual(before);
    end(before);
    await turns();
    expect(begunOf(greedy).length - before.length).toBe(FEW);
    expect(begunOf(modest)).toEqual(modest);
    expect(refusedOf(greedy)).toEqual([]);
  });

  it.each([
    ['the event loop is not busy', 0.5, 'modest'],
    ['it asks alone', 1, 'greedy'],
  ])('all begin while %s', async (_when, share, other) => {
    const { begunOf, many, ask, turns } = start();
    busyShare = share;
    ask(other);
    pass(LATENCY_MS);
    const greedy = many(MAX_IN_FLIGHT - 1, 'greedy');
    await turns();
    expect(begunOf(greedy)).toEqual(greedy);
  });

  it('begin while others have more in flight than it, though all are busy', async () => {
    const { begunOf, many, ask, turns } = start();
    busyShare = 1;
    for (let sender = 0; sender < 2 * FEW; sender += 1) ask(`modest ${sender}`);
    const greedy = many(2 * FEW, 'greedy');
    pass(LATENCY_MS);
    await turns();
    expect(begunOf(greedy)).toEqual(greedy);
  });
});

describe('queued requests', () => {
  it('begin in the next turns of the event loop, with the time of their wait', async () => {
    const { begunOf, many, ask, turns, waits } = start();
    const asked = many(17);
    ask('one', '/health');
    pass(7);
    await turns(1);
    expect(begunOf(asked)).toEqual(asked);
    expect(waits).toEqual([...Array<number>(16).fill(0), undefined, 7]);
  });

  it('that are refused free their sender, so that the shares of others are as before', async () => {
    const { begun, begunOf, many, ask, turns } = start();
    // Each has a share until twice the maximum is in flight.
    const asked = times(3 * MAX_IN_FLIGHT, (sender) => ask(`sender ${sender}`));
    await turns(20);
    pass(4 * LATENCY_MS);
    expect(refusedOf(asked)).toHaveLength(MAX_IN_FLIGHT);
    end([...begun]);
    pass(2 * LATENCY_MS);
    many(MAX_IN_FLIGHT, 'greedy');
    const others = many(MAX_IN_FLIGHT, 'modest');
    await turns(20);
    expect(begunOf(others)).toHaveLength(MAX_IN_FLIGHT / 2);
  });

  it('begin by round robin over senders, not in the order of arrival', async () => {
    const { begun, many, turns } = start();
    const asked = many(MAX_IN_FLIGHT, 'greedy');
    many(100, 'greedy');
    await turns();
    const modest = new Set(many(MAX_IN_FLIGHT, 'modest').slice(MAX_IN_FLIGHT / 2));
    await turns();
    const before = begun.length;
    end(asked);
    await turns();
    const next = begun.slice(before, before + 20);
    expect(next.filter((response) => modest.has(response))).toHaveLength(10);
  });
});

it('requests that are woken together continue within the limit and in order, leave others their share, and are never refused', async () => {
  const change = Promise.withResolvers<void>();
  const continued: Response[] = [];
  let isHeld = true;
  const { admission, begun, many, turns } = start((entry, response) => {
    if (isHeld)
      void admission.whileWaiting(entry, change.promise).then(() => continued.push(response));
  });
  const asked = many(500, 'greedy');
  await turns(100);
  isHeld = false;
  change.resolve();
  await turns(20);
  expect(continued).toHaveLength(MAX_IN_FLIGHT);
  const modest = many(MAX_IN_FLIGHT / 2, 'modest');
  await turns(5);
  expect(begun.slice(-modest.length)).toEqual(modest);
  pass(10 * LATENCY_MS);
  end(modest);
  for (let round = 0; round < 10; round += 1) {
    end(continued);
    await turns();
  }
  expect(refusedOf(asked)).toEqual([]);
  expect(continued).toEqual(asked);
});

describe('an answer that only its client has to read', () => {
  const MIB = 1_048_576;
  const isCut = ({ socket }: Response) => socket.destroyed;
  /** Answers of some bytes, of which nothing is read. */
  async function unread(service: ReturnType<typeof start>, bytes: number[], host = 'one') {
    const answers = bytes.map((length) => {
      const response = service.ask(host);
      response.writableLength = length;
      response.socket.bytesWritten = length;
      response.writableEnded = true;
      return response;
    });
    await service.turns();
    // The next window finds them.
    pass(101);
    return answers;
  }

  it.each([
    [1_600_000, 0],
    [0, 1_600_000],
  ])(
    'must be read within a minute, and a second for each 32 KB: of %d bytes at first, and %d later',
    async (length, more) => {
      const [answer] = (await unread(start(), [length])) as [Response];
      answer.socket.bytesWritten += more;
      pass(60_000 + 49_800);
      expect(isCut(answer)).toBe(false);
      pass(400);
      expect(isCut(answer)).toBe(true);
    },
  );

  it('has that time from when its connection begins to send it', async () => {
    const queued = start().ask();
    const { socket } = queued;
    Object.assign(queued, { writableEnded: true, socket: null });
    pass(200_000);
    Object.assign(queued, { socket });
    pass(59_000);
    expect(socket.destroyed).toBe(false);
    pass(1_200);
    expect(socket.destroyed).toBe(true);
  });

  it('must be read at 1 MiB/s while its sender has more than 32 MiB unread, the largest first', async () => {
    const service = start();
    const large = await unread(service, Array<number>(7).fill(4 * MIB));
    const small = await unread(service, Array<number>(3).fill(MIB));
    const modest = await unread(service, [4 * MIB], 'modest');
    pass(30_000);
    expect([...large, ...small, ...modest].filter(isCut)).toEqual([]);
    const fresh = await unread(service, [2 * MIB]);
    expect(large.filter(isCut)).toHaveLength(1);
    pass(30_000);
    expect([...small, ...modest, ...fresh].filter(isCut)).toEqual([]);
  });

  it('keeps its sender from others while that has too many unread bytes, and nobody else', async () => {
    const service = start();
    const { ask, begunOf, turns } = service;
    const answers = await unread(service, Array<number>(17).fill(2 * MIB));
    const own = ask();
    const other = ask('modest');
    await turns(5);
    expect(begunOf([own, other])).toEqual([other]);
    end(answers.slice(0, 2));
    pass(200);
    await turns(5);
    expect(begunOf([own])).toEqual([own]);
  });

  it('counts for each that its sender has in flight', async () => {
    const service = start();
    await unread(service, [4 * MIB, 4 * MIB, 20 * MIB]);
    const [first, second] = [service.ask(), service.ask()];
    await service.turns(5);
    expect(service.begunOf([first, second])).toEqual([first]);
  });

  it('shares 128 MiB with those of all senders: those with more than an equal share make room', async () => {
    const service = start();
    const answers: Response[][] = [];
    for (let sender = 0; sender < 5; sender += 1) {
      answers.push(await unread(service, Array<number>(7).fill(4 * MIB), `greedy ${sender}`));
    }
    const modest = await unread(service, Array<number>(5).fill(4 * MIB), 'modest');
    pass(6_000);
    // 160 MiB were unread; an equal share of 128 MiB is 21.
    expect(answers.flat().filter(isCut)).toHaveLength(8);
    expect(modest.filter(isCut)).toEqual([]);
  });
});
