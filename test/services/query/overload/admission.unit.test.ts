import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createMetrics } from '#query/metrics.ts';
import { Admission, type AdmittedRequest, MAX_IN_FLIGHT } from '#query/overload/admission.ts';
import { createLogger } from '#shared/logging.ts';

const LATENCY_MS = 100;

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());
const pass = (milliseconds: number) => void vi.advanceTimersByTime(milliseconds);

class Response extends EventEmitter {
  status = 0;
  writableEnded = false;
  writableNeedDrain = false;
  writeHead(status: number) {
    this.status = status;
  }
  end() {
    this.writableEnded = true;
  }
}

function start(whenBegun: (entry: AdmittedRequest | null, response: Response) => void = () => undefined) {
  const begun: Response[] = [];
  const admission = new Admission({
    latencyMs: LATENCY_MS,
    senderOf: ({ headers }) => headers.host ?? '',
    metrics: createMetrics(),
    logger: createLogger('query', 'silent'),
  });
  const waits: (number | undefined)[] = [];
  const listener = admission.before((_, response) => {
    begun.push(response as never);
    waits.push(admission.beginning?.queuedMs);
    whenBegun(admission.beginning, response as never);
  });
  const ask = (host = 'one', url = '/api/order/list') => {
    const response = new Response();
    listener({ url, headers: { host } } as IncomingMessage, response as unknown as ServerResponse);
    return response;
  };
  const many = (count: number, host = 'one') => Array.from({ length: count }, () => ask(host));
  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn += 1) await nextTurn();
  };
  return { admission, begun, waits, ask, many, turns };
}

const end = (responses: Response[]) => {
  for (const response of responses) response.emit('close');
};
const refusedOf = (responses: Response[]) => responses.filter(({ status }) => status === 503);

describe('requests in flight', () => {
  it('are limited; the next ones wait until one ends', async () => {
    const { begun, many, turns } = start();
    const asked = many(MAX_IN_FLIGHT + 2);
    await turns(10);
    expect(begun).toEqual(asked.slice(0, MAX_IN_FLIGHT));
    end(asked.slice(0, 1));
    await turns(2);
    expect(begun).toEqual(asked.slice(0, MAX_IN_FLIGHT + 1));
  });

  it('do not include requests whose clients only have to read the answer', async () => {
    const { begun, many, turns, ask } = start();
    const asked = many(MAX_IN_FLIGHT);
    await turns(10);
    for (const response of asked) response.writableEnded = true;
    pass(LATENCY_MS + 1);
    const next = ask();
    await turns(1);
    expect(begun.at(-1)).toBe(next);
  });
});

describe('queued requests', () => {
  it('begin in the next turns of the event loop, with the time of their wait', async () => {
    const { admission, begun, many, ask, turns, waits } = start();
    const asked = many(17);
    ask('one', '/health');
    pass(7);
    await turns(1);
    expect(begun.filter((response) => asked.includes(response))).toEqual(asked);
    expect(waits).toEqual([...Array<number>(16).fill(0), undefined, 7]);
    expect(admission.beginning).toBeNull();
  });

  it('that are refused free their sender, so that the shares of others are as before', async () => {
    const { begun, many, ask, turns } = start();
    const asked = many(MAX_IN_FLIGHT, 'greedy');
    await turns(10);
    many(MAX_IN_FLIGHT, 'modest');
    await turns(10);
    // The maximum is in flight: each of these others has one queued request.
    for (let sender = 0; sender < 3 * MAX_IN_FLIGHT; sender += 1) ask(`sender ${sender}`);
    await turns(10);
    pass(3 * LATENCY_MS + 1);
    // The next turn finds them expired before the timer does.
    end(asked.slice(0, 1));
    await turns(50);
    pass(10 * LATENCY_MS);
    await turns(50);
    end([...begun]);
    await turns(10);
    const before = begun.length;
    many(2 * MAX_IN_FLIGHT, 'greedy');
    await turns(20);
    expect(begun.length - before).toBe(MAX_IN_FLIGHT);
    const others = many(MAX_IN_FLIGHT, 'modest');
    await turns(20);
    expect(others.filter((response) => begun.includes(response))).toHaveLength(MAX_IN_FLIGHT / 2);
  });

  it('begin by round robin over senders, not in the order of arrival', async () => {
    const { begun, many, turns } = start();
    const asked = many(MAX_IN_FLIGHT, 'greedy');
    many(100, 'greedy');
    await turns(10);
    const modest = new Set(many(MAX_IN_FLIGHT, 'modest').slice(MAX_IN_FLIGHT / 2));
    await turns(10);
    const before = begun.length;
    end(asked);
    await turns(10);
    const next = begun.slice(before, before + 20);
    expect(next.filter((response) => modest.has(response))).toHaveLength(10);
  });

  it('are refused after three times the allowed wait, even if no request ends', async () => {
    const { begun, many, turns } = start();
    const asked = many(MAX_IN_FLIGHT + 10);
    await turns(10);
    pass(3 * LATENCY_MS);
    expect(refusedOf(asked)).toEqual([]);
    pass(LATENCY_MS);
    expect(refusedOf(asked)).toEqual(asked.slice(MAX_IN_FLIGHT));
    expect(begun).toHaveLength(MAX_IN_FLIGHT);
  });
});

describe('requests that are woken together', () => {
  async function woken() {
    const change = Promise.withResolvers<void>();
    const continued: Response[] = [];
    let isHeld = true;
    const service = start((entry, response) => {
      if (isHeld) void service.admission.whileWaiting(entry, change.promise).then(() => continued.push(response));
    });
    const asked = service.many(500, 'greedy');
    await service.turns(100);
    isHeld = false;
    change.resolve();
    await service.turns(20);
    return { ...service, asked, continued };
  }

  it('continue within the limit, the next ones when one ends', async () => {
    const { continued, asked, turns } = await woken();
    expect(continued).toHaveLength(MAX_IN_FLIGHT);
    end(continued.slice(0, 10));
    await turns(5);
    expect(continued).toEqual(asked.slice(0, MAX_IN_FLIGHT + 10));
  });

  it('leave other senders their share', async () => {
    const { begun, many, turns } = await woken();
    const modest = many(MAX_IN_FLIGHT / 2, 'modest');
    await turns(5);
    expect(begun.slice(-modest.length)).toEqual(modest);
  });

  it('are never refused', async () => {
    const { continued, asked, turns } = await woken();
    pass(10 * LATENCY_MS);
    for (let round = 0; round < 10; round += 1) {
      end(continued);
      await turns(10);
    }
    expect(refusedOf(asked)).toEqual([]);
    expect(continued).toEqual(asked);
  });
});

describe('while requests are refused', () => {
  /** No request ends, so that the queue stays full. */
  async function overloaded() {
    const service = start();
    const asked = service.many(MAX_IN_FLIGHT + 10);
    await service.turns(10);
    pass(4 * LATENCY_MS);
    expect(refusedOf(asked)).toHaveLength(10);
    return { ...service, asked };
  }

  it('an excess request is refused immediately', async () => {
    const { ask } = await overloaded();
    expect(ask().status).toBe(503);
  });

  it('/health is admitted', async () => {
    const { ask, begun } = await overloaded();
    const health = ask('one', '/health?x=1');
    expect([health.status, begun.at(-1)]).toEqual([0, health]);
  });

  it('no request is refused a moment after the burst ended', async () => {
    const { asked, many, turns } = await overloaded();
    end(asked);
    pass(LATENCY_MS + 1);
    const burst = many(500);
    await turns(1);
    expect(refusedOf(burst)).toEqual([]);
  });
});
