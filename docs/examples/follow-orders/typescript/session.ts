/**
 * Requests as the API asks its clients to make them: a token before the old one expires, a new one once after a 401,
 * `Retry-After` where it is given, and growing pauses after server errors and cut connections.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Credentials {
  /** Such as `https://api.example.com`, or with a path behind a gateway. */
  baseUrl: string;
  clientId: string;
  clientSecret: string;
}

/** The API refuses for good: another try would be refused too. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly status: number;

  constructor(status: number, body: string) {
    super(`the API answered ${status}: ${body}`);
    this.status = status;
  }
}

/** A connection that says nothing for so long, beyond the time that it was asked to wait, is given up. */
const SILENCE_MS = 15_000;
const LONGEST_PAUSE_MS = 30_000;
/** A proxy may end requests sooner than the API: after a cut the wait is halved, down to this. */
const SHORTEST_WAIT_SECONDS = 5;

export class Session {
  readonly #credentials: Credentials;
  readonly #signal: AbortSignal;
  #token: { value: string; renewAt: number } | null = null;
  #longestWait = Infinity;

  constructor(credentials: Credentials, signal: AbortSignal) {
    this.#credentials = credentials;
    this.#signal = signal;
  }

  /**
   * A `fetch` for generated clients: it answers only with what is final.
   * @throws {Refused} for what another try would not change; the signal's reason once it is aborted.
   */
  readonly fetch = async (request: Request): Promise<Response> => {
    const url = new URL(request.url);
    const asked = Number(url.searchParams.get('wait') ?? 0);
    let isRenewed = false;
    for (let attempt = 0; ; attempt += 1) {
      const wait = Math.min(asked, this.#longestWait);
      if (asked > 0) url.searchParams.set('wait', String(wait));
      const began = performance.now();
      const response = await this.#send(wait * 1_000, async (signal) => {
        const headers = new Headers(request.headers);
        headers.set('authorization', `Bearer ${await this.#freshToken(signal)}`);
        return fetch(new Request(url, { method: request.method, headers, signal }));
      });
      if (response?.ok) return response;
      if (wasCut(response, wait, (performance.now() - began) / 1_000)) {
        this.#longestWait = Math.max(SHORTEST_WAIT_SECONDS, Math.floor(wait / 2));
      }
      if (response?.status === 401 && !isRenewed) {
        isRenewed = true;
        this.#token = null;
      } else if (response === null || mayPass(response.status)) {
        await this.#pause(response, attempt);
      } else {
        throw new Refused(response.status, await response.text());
      }
    }
  };

  /** The answer with its body, `null` where none came. */
  async #send(waitMs: number, send: (signal: AbortSignal) => Promise<Response>): Promise<Response | null> {
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(waitMs + SILENCE_MS)]);
    try {
      const response = await send(signal);
      // A connection can be cut inside the body, too.
      const body = await response.arrayBuffer();
      return new Response(body, response);
    } catch (error) {
      this.#signal.throwIfAborted();
      if (error instanceof Refused) throw error;
      return null;
    }
  }

  async #freshToken(signal: AbortSignal): Promise<string> {
    if (this.#token !== null && Date.now() < this.#token.renewAt) return this.#token.value;
    const { baseUrl, clientId, clientSecret } = this.#credentials;
    for (let attempt = 0; ; attempt += 1) {
      const response = await fetch(`${baseUrl.replace(/\/+$/, '')}/api/auth/token/`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` },
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
        signal,
      });
      if (response.ok) {
        const token = (await response.json()) as { access_token: string; expires_in: number };
        // Well before it expires: a request that waits is looked at again when its wait ends.
        const lifetimeMs = Math.max(token.expires_in * 500, token.expires_in * 1_000 - 60_000);
        this.#token = { value: token.access_token, renewAt: Date.now() + lifetimeMs };
        return token.access_token;
      }
      if (!mayPass(response.status)) throw new Refused(response.status, await response.text());
      await this.#pause(response, attempt);
    }
  }

  async #pause(response: Response | null, attempt: number): Promise<void> {
    // A proxy may give a date; then growing pauses do as well.
    const asked = Number(response?.headers.get('retry-after') ?? 0) * 1_000 || 0;
    const growing = Math.min(200 * 2 ** attempt, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2);
    await sleep(Math.max(asked, growing), undefined, { signal: this.#signal });
  }
}

/** Whether something between us and the API ended a request that waited: the API itself answers 200 then. */
function wasCut(response: Response | null, wait: number, seconds: number): boolean {
  return seconds > 1 && seconds < wait + 1 && (response === null || response.status === 502 || response.status === 504);
}

/** Too many requests, and whatever is wrong with a server. */
function mayPass(status: number): boolean {
  return status === 429 || status >= 500;
}
