/**
 * Clients during an upgrade: one sends requests without pause, one follows the changes of orders
 * and waits for them.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, type ApiClient, createApiClient } from '#test/api-client.ts';
import { Follower } from '#test/follower.ts';

const PAUSE_MS = 20;

export interface Key {
  client_id: string;
  client_secret: string;
}

export class Traffic {
  /** Answers other than 200, and the service that gave them. */
  readonly failures: string[] = [];
  #urls: string[];
  readonly #key: Key;
  #follower: Follower | null = null;
  readonly #running: Promise<unknown>;
  #stopped = false;

  constructor(url: string, key: Key) {
    this.#urls = [url];
    this.#key = key;
    this.#running = Promise.all([this.#ask(), this.#follow()]);
  }

  /** The followed orders, as `order/<id>`. */
  get copy(): ReadonlyMap<string, Record<string, unknown>> {
    return this.#follower?.copy ?? new Map();
  }

  /** Adds a service, which then gets requests. */
  send(url: string): void {
    this.#urls.unshift(url);
  }

  /** Removes a service, which still answers requests in flight. */
  leave(url: string): void {
    this.#urls = this.#urls.filter((one) => one !== url);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #ask(): Promise<void> {
    for (let count = 0; !this.#stopped; count += 1) {
      const path = count % 2 === 0 ? '/api/order/list' : '/api/store/info/';
      const token = await this.#token();
      await this.#request((api) => api.get(path, token));
      await sleep(PAUSE_MS);
    }
  }

  async #follow(): Promise<void> {
    const get: ApiClient['get'] = (...asked) => this.#request((api) => api.get(...asked));
    const token = await this.#token();
    this.#follower = new Follower({ get }, token, '/api/order/changes?page_size=100');
    while (!this.#stopped) await this.#follower.follow('&wait=5');
  }

  /** A new token for each first request: a key of one release gets tokens at the other. */
  async #token(): Promise<string> {
    const { client_id, client_secret } = this.#key;
    const { json } = await this.#request((api) => api.askToken(client_id, client_secret));
    return (json as { access_token?: string } | null)?.access_token ?? '';
  }

  async #request(ask: (api: ApiClient) => Promise<Answer>): Promise<Answer> {
    const [url = ''] = this.#urls;
    const answer = await ask(createApiClient(url)).catch((error: Error) => ({
      status: 503,
      headers: new Headers(),
      text: `${String(error)} ${String(error.cause)}`,
      json: null,
    }));
    if (answer.status !== 200) this.failures.push(`${url}: ${answer.status} ${answer.text}`);
    return answer;
  }
}
