/**
 * What failed authentications take, one after the other over one connection: an unknown client and a wrong secret in
 * turn, so that nobody learns from the time which of the two it was.
 */
import { randomInt } from 'node:crypto';
import { Agent, request } from 'node:http';
import { newClientId, newClientSecret } from '#shared/access/secrets.ts';
import type { BenchKey } from '../query/tokens.ts';

/** Times of one kind of refusal in milliseconds. */
export interface Distribution {
  name: string;
  requests: number;
  p10_ms: number;
  p50_ms: number;
  p90_ms: number;
  p99_ms: number;
}

export const REFUSALS = 2_000;
const WARM_UP = 200;
const NAMES = ['unknown client', 'wrong secret'] as const;

export async function timeRefusals(url: string, { clientId }: BenchKey): Promise<Distribution[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: Record<(typeof NAMES)[number], number[]> = { 'unknown client': [], 'wrong secret': [] };
  for (let index = -WARM_UP; index < REFUSALS; index += 1) {
    // By chance, so that neither always comes after the other.
    const order = randomInt(2) === 0 ? NAMES : NAMES.toReversed();
    for (const name of order) {
      const time = await ask(agent, url, name === 'wrong secret' ? clientId : newClientId());
      if (index >= 0) times[name].push(time);
    }
  }
  agent.destroy();
  return Object.entries(times).map(([name, values]) => distribution(name, values));
}

/** Milliseconds from the request to the end of its answer, which must be 401. */
function ask(agent: Agent, url: string, clientId: string): Promise<number> {
  const credentials = Buffer.from(`${clientId}:${newClientSecret()}`).toString('base64');
  const body = 'grant_type=client_credentials';
  const headers = {
    authorization: `Basic ${credentials}`,
    'content-type': 'application/x-www-form-urlencoded',
    'content-length': body.length,
  };
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const sent = request(`${url}/api/auth/token/`, { method: 'POST', agent, headers }, (response) => {
      response.resume();
      response.on('end', () => {
        if (response.statusCode === 401) resolve(performance.now() - began);
        else reject(new Error(`a failed authentication was answered ${response.statusCode ?? 0}`));
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

function distribution(name: string, values: readonly number[]): Distribution {
  const sorted = values.toSorted((a, b) => a - b);
  const quantile = (part: number) => Number((sorted[Math.ceil(sorted.length * part) - 1] ?? 0).toFixed(3));
  return {
    name,
    requests: sorted.length,
    p10_ms: quantile(0.1),
    p50_ms: quantile(0.5),
    p90_ms: quantile(0.9),
    p99_ms: quantile(0.99),
  };
}
