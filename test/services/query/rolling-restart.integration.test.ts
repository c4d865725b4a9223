/** Three query services behind a proxy that asks `/ready` and never tries a request twice: restarted one after the other, none is lost. */
import { once } from 'node:events';
import { Agent, createServer, request as ask, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import { useQueryService } from '#test/hooks.ts';
import { eventually } from '#test/installation.ts';
import { type ServiceProcess, startService } from '#test/service-process.ts';

const LOOK_MS = 50;
const CLIENTS = 8;
/** Of each client between two requests, so that other tests get on as well. */
const PAUSE_MS = 20;

const service = useQueryService();
beforeAll(async () => {
  await service.setKey({ clientId: 'reader' });
});

interface Instance {
  process: ServiceProcess;
  url: string;
  operations: string;
  isReady: boolean;
}

async function start(): Promise<Instance> {
  const started = startService('query', { ...service.installation.env, SHUTDOWN_DELAY_MS: '5000' });
  const line = await started.logged(({ msg }) => msg === 'query service started');
  return {
    process: started,
    url: String(line['url']),
    operations: String(line['operations']),
    isReady: false,
  };
}

/** A proxy with connections that are kept. What it cannot pass on it answers 502. */
class Proxy {
  readonly instances = new Set<Instance>();
  readonly #agent = new Agent({ keepAlive: true });
  readonly #server = createServer((request, response) => this.#pass(request, response));
  #turn = 0;
  #isOver = false;

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    void this.#look();
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#isOver = true;
    this.#server.close();
    this.#server.closeAllConnections();
    this.#agent.destroy();
  }

  async #look(): Promise<void> {
    while (!this.#isOver) {
      for (const instance of this.instances) {
        instance.isReady = await fetch(`${instance.operations}/ready`).then(
          ({ ok }) => ok,
          () => false,
        );
      }
      await sleep(LOOK_MS);
    }
  }

  #pass({ url, headers }: IncomingMessage, response: ServerResponse): void {
    const ready = [...this.instances].filter(({ isReady }) => isReady);
    this.#turn += 1;
    const target = ready[this.#turn % ready.length];
    const fail = () => response.writeHead(502).end();
    if (target === undefined) {
      fail();
      return;
    }
    const { connection: _connection, ...passed } = headers;
    const asked = ask(new URL(url ?? '', target.url), { agent: this.#agent, headers: passed }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, { 'content-type': answer.headers['content-type'] ?? '' });
      answer.pipe(response);
    });
    asked.on('error', fail);
    asked.end();
  }
}

it('a rolling restart loses no request', async () => {
  const proxy = new Proxy();
  const url = await proxy.listen();
  const started: Instance[] = [];
  const add = async () => {
    const instance = await start();
    started.push(instance);
    proxy.instances.add(instance);
    await eventually('it is ready', () => instance.isReady);
    return instance;
  };
  try {
    const first = await Promise.all([add(), add(), add()]);
    const token = await service.api.token('reader', 'secret');
    const statuses = new Map<number, number>();
    const over = new AbortController();
    const clients = Array.from({ length: CLIENTS }, async () => {
      while (!over.signal.aborted) {
        const response = await fetch(`${url}/api/order/list`, {
          headers: { authorization: `Bearer ${token}` },
        });
        await response.arrayBuffer();
        const { status } = response;
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        await sleep(PAUSE_MS);
      }
    });
    for (const instance of first) {
      instance.process.kill('SIGTERM');
      expect(await instance.process.ended).toEqual({ code: 0, signal: null });
      proxy.instances.delete(instance);
      await add();
    }
    over.abort();
    await Promise.all(clients);
    expect([...statuses.keys()]).toEqual([200]);
    expect(statuses.get(200)).toBeGreaterThan(CLIENTS);
  } finally {
    proxy.close();
    for (const { process } of started) process.kill('SIGKILL');
  }
});
