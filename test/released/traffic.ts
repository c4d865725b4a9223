/**
 * Clients during an upgrade: one sends requests without pause, one follows the changes of orders
 * and waits for them.
 */
import { setTimeout as sleep } from 'node:timers/promises';

const PAUSE_MS = 20;
const WAIT_SECONDS = 5;

interface Key {
  client_id: string;
  client_secret: string;
}

interface Changes {
  results: { id: string; record: Record<string, unknown> | null }[];
  next: string;
}

export class Traffic {
  /** Answers other than 200, and the service that gave them. */
  readonly failures: string[] = [];
  readonly copy = new Map<string, Record<string, unknown>>();
  #urls: string[];
  readonly #key: Key;
  readonly #running: Promise<unknown>;
  #stopped = false;

  constructor(url: string, key: Key) {
    this.#urls = [url];
    this.#key = key;
    this.#running = Promise.all([this.#ask(), this.#follow()]);
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
      const token = await this.#token();
      await this.#get(count % 2 === 0 ? '/api/order/list' : '/api/store/info/', token);
      await sleep(PAUSE_MS);
    }
  }

  async #follow(): Promise<void> {
    const token = await this.#token();
    for (let after = ''; !this.#stopped;) {
      const page = (await this.#get(
        `/api/order/changes?wait=${WAIT_SECONDS}${after}`,
        token,
      )) as Changes | null;
      if (page === null) {
        await sleep(PAUSE_MS);
        continue;
      }
      for (const { id, record } of page.results) {
        if (record === null) this.copy.delete(id);
        else this.copy.set(id, record);
      }
      after = `&after=${page.next}`;
    }
  }

  /** A new token for each first request: a key of one release gets tokens at the other. */
  async #token(): Promise<string> {
    const { client_id, client_secret } = this.#key;
    const authorization = `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`;
    const body = new URLSearchParams({ grant_type: 'client_credentials' });
    const answer = await this.#fetch('/api/auth/token/', {
      method: 'POST',
      headers: { authorization },
      body,
    });
    return (answer as { access_token: string } | null)?.access_token ?? '';
  }

  #get(path: string, token: string): Promise<unknown> {
    return this.#fetch(path, { headers: { authorization: `Bearer ${token}` } });
  }

  async #fetch(path: string, init: RequestInit): Promise<unknown> {
    const url = `${this.#urls[0]}${path}`;
    try {
      const answer = await fetch(url, init);
      const text = await answer.text();
      if (answer.status === 200) return JSON.parse(text) as unknown;
      this.failures.push(`${url}: ${answer.status} ${text}`);
    } catch (error) {
      this.failures.push(`${url}: ${String(error)} ${String((error as Error).cause)}`);
    }
    return null;
  }
}
