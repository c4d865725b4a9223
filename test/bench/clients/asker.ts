/**
 * The process that asks, as many clients do who know nothing of one another: each request at its own time, fixed in advance. It
 * takes a connection that is kept and free, else opens one. A time counts from when the request should have been sent.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from './connection.ts';
import type { AskOrder, Told } from './start.ts';

const TICK_MS = 1;
/** Answers are waited for so long after the last request. */
const LAST_MS = 5_000;

process.on('message', (order: AskOrder) => {
  (order.phases === undefined ? askInTurn(order, order.seconds) : askAt(order, dueTimes(order.phases))).then(
    (told) => process.send?.({ told }),
    (error: unknown) => process.send?.({ failed: String(error) }),
  );
});

/** Each connection asks again as soon as it was answered. */
async function askInTurn(order: AskOrder, seconds: number): Promise<Told[]> {
  const told: Told[] = [];
  const connections = await open(order);
  const began = performance.now();
  const until = began + seconds * 1_000;
  await Promise.all(
    connections.map(async (connection) => {
      for (let now = performance.now(); now < until; now = performance.now()) {
        const status = await connection.ask(order.requests[told.length % order.requests.length] ?? '');
        told.push({ due: now - began, status, milliseconds: performance.now() - now });
        if (status === 0) return;
      }
    }),
  );
  for (const connection of connections) connection.close();
  return told;
}

/** Each request is sent at its time, or later where all connections are taken. */
async function askAt(order: AskOrder, dueAt: readonly number[]): Promise<Told[]> {
  const told: Told[] = dueAt.map((due) => ({ due, status: 0, milliseconds: Number.NaN }));
  const connections: Promise<Connection>[] = [];
  const free: Promise<Connection>[] = [];
  const began = performance.now();
  let answered = 0;
  const open = () => {
    const connection = Connection.open(order.port);
    connections.push(connection);
    return connection;
  };
  const send = async (opening: Promise<Connection>, one: Told, request: string) => {
    const connection = await opening.catch(() => null);
    one.status = (await connection?.ask(request)) ?? 0;
    one.milliseconds = performance.now() - began - one.due;
    answered += 1;
    if (one.status !== 0) free.push(opening);
  };
  const until = (dueAt.at(-1) ?? 0) + LAST_MS;
  let next = 0;
  while (answered < told.length && performance.now() - began < until) {
    const now = performance.now() - began;
    for (let one = told[next]; one !== undefined && one.due <= now; one = told[next]) {
      const connection = free.pop() ?? (connections.length < order.connections ? open() : undefined);
      if (connection === undefined) break;
      void send(connection, one, order.requests[next % order.requests.length] ?? '');
      next += 1;
    }
    // The machine is for those who are measured.
    await sleep(TICK_MS);
  }
  for (const opening of connections)
    void opening.then(
      (connection) => connection.close(),
      () => undefined,
    );
  return told;
}

async function open({ port, connections }: AskOrder): Promise<Connection[]> {
  const opened: Connection[] = [];
  while (opened.length < connections) opened.push(await Connection.open(port));
  return opened;
}

/** Times at random, as clients have them, and the same in every run. */
function dueTimes(phases: NonNullable<AskOrder['phases']>): number[] {
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
