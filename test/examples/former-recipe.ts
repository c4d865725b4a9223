/** How one followed orders before there were changes: by the greatest `updated_at`, again and again. It loses orders. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient, ListBody } from '#test/api-client.ts';

export class FormerRecipe {
  readonly #api: ApiClient;
  readonly #token: string;
  readonly orders = new Map<string, unknown>();
  #greatest: string | null = null;

  constructor(api: ApiClient, token: string) {
    this.#api = api;
    this.#token = token;
  }

  /** One poll, over all its pages. */
  async poll(): Promise<void> {
    const from = this.#greatest;
    for (let page = 1; ; page += 1) {
      const since = from === null ? '' : `&updated_from=${encodeURIComponent(from)}`;
      const { results } = await this.#list(`/api/order/list?page=${page}&page_size=100${since}`);
      for (const order of results) {
        this.orders.set(String(order['id']), order);
        const updated = String(order['updated_at']);
        if (this.#greatest === null || updated > this.#greatest) this.#greatest = updated;
      }
      if (results.length < 100) return;
    }
  }

  /** It shares the store's quota with all others. */
  async #list(path: string): Promise<ListBody> {
    for (;;) {
      const { status, headers, json } = await this.#api.get(path, this.#token);
      if (status === 200) return json as ListBody;
      if (status !== 429) throw new Error(`${path} answered ${status}`);
      await sleep(Number(headers.get('retry-after')) * 1_000);
    }
  }
}
