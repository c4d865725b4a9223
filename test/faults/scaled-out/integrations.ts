/**
 * Client programs: some poll, some wait for changes, all retry by the API's retry rules. Every
 * failure is noted.
 */
import { describeError } from '#shared/errors.ts';
import { pause } from '#shared/waiting.ts';
import { eventually } from '#test/eventually.ts';
import { fetchToken, type PublishedKey } from '#test/tokens.ts';

export interface GivenKey extends PublishedKey {
  token: string;
}

interface Failure {
  /** Begin and end of the attempt, by `performance.now()`. */
  began: number;
  ended: number;
  what: string;
  /** Whether it was the last attempt of its request. */
  isLost: boolean;
}

const POLL_MS = 2_000;
const WAIT_SECONDS = 5;
const LIMIT_MS = 60_000;
/** The retry rules require a limited number of attempts with growing pauses. */
const RETRIES = 6;
const FIRST_BACK_OFF_MS = 200;

/** Starts an integration per key; every third waits for changes, the others poll. */
export function startIntegrations(url: string, keys: readonly GivenKey[]) {
  const over = new AbortController();
  const counts = keys.map(() => 0);
  const tokens = keys.map(({ token }) => token);
  let failures: Failure[] = [];

  /** One request with its retries. @returns `null` if all attempts failed. */
  const ask = async (own: number, path: string): Promise<unknown> => {
    for (let attempt = 0; attempt <= RETRIES && !over.signal.aborted;) {
      const began = performance.now();
      const isLost = attempt === RETRIES;
      const failed = (what: string) =>
        failures.push({ began, ended: performance.now(), what, isLost });
      let waitMs = FIRST_BACK_OFF_MS * 2 ** attempt;
      attempt += 1;
      try {
        const response = await fetch(`${url}${path}`, {
          headers: { authorization: `Bearer ${tokens[own]}` },
          signal: AbortSignal.any([over.signal, AbortSignal.timeout(LIMIT_MS)]),
        });
        const body = await response.text();
        if (response.ok) {
          counts[own] = (counts[own] ?? 0) + 1;
          return JSON.parse(body) as unknown;
        }
        failed(String(response.status));
        if (response.status === 429) attempt -= 1;
        else if (response.status === 401) tokens[own] = await renewed(own);
        else if (response.status < 500) return null;
        waitMs = Math.max(waitMs, Number(response.headers.get('retry-after') ?? 0) * 1_000);
      } catch (error) {
        if (over.signal.aborted) return null;
        failed(`connection: ${describeError(error)}`);
      }
      await pause(waitMs, over.signal);
    }
    return null;
  };

  const renewed = async (own: number) => {
    const key = keys[own];
    return key === undefined ? '' : fetchToken(url, key).catch(() => '');
  };
  const poll = async (own: number) => {
    // Spreads the starts.
    await pause((own / keys.length) * POLL_MS, over.signal);
    while (!over.signal.aborted) {
      await ask(own, '/api/order/list?page_size=20');
      await pause(POLL_MS, over.signal);
    }
  };
  const wait = async (own: number) => {
    let after = '';
    while (!over.signal.aborted) {
      const page = await ask(own, `/api/order/changes?page_size=100${after}`);
      if (page === null) await pause(POLL_MS, over.signal);
      else after = `&wait=${WAIT_SECONDS}&after=${(page as { next: string }).next}`;
    }
  };
  const running = keys.map((_, own) => (own % 3 === 0 ? wait(own) : poll(own)));
  return {
    /** Answered attempts so far, of polling and of waiting programs. */
    answered: () => counts.reduce((sum, count) => sum + count, 0),
    /** Attempts that failed since the last call. */
    takeFailures() {
      const taken = failures;
      failures = [];
      return taken;
    },
    /** Waits until each integration gets another answer. */
    async everyoneIsAnswered() {
      const before = [...counts];
      const isEveryone = () => counts.every((count, own) => count !== before[own]);
      await eventually('everyone is answered', isEveryone, LIMIT_MS).catch((error: unknown) => {
        throw new Error(`${String(error)}: ${JSON.stringify(failures.slice(-5))}`);
      });
    },
    async stop() {
      over.abort();
      await Promise.all(running);
    },
  };
}
