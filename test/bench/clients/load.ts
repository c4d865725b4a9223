/**
 * The client process: sends requests at random times fixed in advance, like many independent
 * clients. A request takes a free connection, or opens one. Response times count from the planned
 * time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from './connection.ts';
import type { RequestOrder, Outcome } from './start.ts';

const TICK_MS = 1;
/** The wait for answers after the last request. */
const LAST_MS = 5_000;

process.on('message', (order: RequestOrder) => {
  (order.phases === undefined
    ? askInTurn(order, order.seconds)
    : askAt(order, dueTimes(order.phases))
  ).then(
    (outcomes) => process.send?.({ outcomes }),
    (error: unknown) => process.send?.({ failed: String(error) }),
  );
});

/** Each connection sends its next request after an answer. */
async function askInTurn(order: RequestOrder, seconds: number): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const connections = await open(order);
  const began = performance.now();
  const until = began + seconds * 1_000;
  await Promise.all(
    connections.map(async (connection) => {
      for (let now = performance.now(); now < until; now = performance.now()) {
        const status = await connection.ask(
          order.requests[outcomes.length % order.requests.length] ?? '',
        );
        outcomes.push({ due: now - began, status, milliseconds: performance.now() - now });
        if (status === 0) return;
      }
    }),
  );
  for (const connection of connections) connection.close();
  return outcomes;
}

/** Sends each request at its time, or later if no connection is free. */
async function askAt(order: RequestOrder, dueAt: readonly number[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = dueAt.map((due) => ({ due, status: 0, milliseconds: Number.NaN }));
  const connections: Promise<Connection>[] = [];
  const free: Promise<Connection>[] = [];
  const began = performance.now();
  let answered = 0;
  const open = () => {
    const connection = Connection.open(order.port);
    connections.push(connection);
    return connection;
  };
  const send = async (opening: Promise<Connection>, one: Outcome, request: string) => {
    const connection = await opening.catch(() => null);
    one.status = (await connection?.ask(request)) ?? 0;
    one.milliseconds = performance.now() - began - one.due;
    answered += 1;
    if (one.status !== 0) free.push(opening);
  };
  const until = (dueAt.at(-1) ?? 0) + LAST_MS;
  let next = 0;
  while (answered < outcomes.length && performance.now() - began < until) {
    const now = performance.now() - began;
    for (let one = outcomes[next]; one !== undefined && one.due <= now; one = outcomes[next]) {
      const connection =
        free.pop() ?? (connections.length < order.connections ? open() : undefined);
      if (connection === undefined) break;
      void send(connection, one, order.requests[next % order.requests.length] ?? '');
      next += 1;
    }
    // Leaves the processor to the measured service.
    await sleep(TICK_MS);
  }
  for (const opening of connections)
    void opening.then(
      (connection) => connection.close(),
      () => undefined,
    );
  return outcomes;
}

async function open({ port, connections }: RequestOrder): Promise<Connection[]> {
  const opened: Connection[] = [];
  while (opened.length < connections) opened.push(await Connection.open(port));
  return opened;
}

/** Random times of independent clients, the same in every run. */
function dueTimes(phases: NonNullable<RequestOrder['phases']>): number[] {
  const times: number[] = [];
  let state = 20_261_122;
  let begins = 0;
  for (const { perSecond, seconds } of phases) {
    const ends = begins + seconds * 1_000;
    let at = begins;
    for (;;) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      at -= (Math.log((state + 1) / 2 ** 32) * 1_000) / perSecond;
      if (at >= ends) break;
      times.push(at);
    }
    begins = ends;
  }
  return times;
}
