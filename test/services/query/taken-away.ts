/** Keys, a store and a session that lose what they had while no projector runs: nothing that Redis forgets may give it back. */
import { expect } from 'vitest';
import { eventually } from '#test/installation.ts';
import type { QueryService, RunningApp } from '#test/query-service.ts';
import { runJson } from '../admin/run-command.ts';

/** By the name of the key: what it answers once all is taken away. */
export const FINALLY: Record<string, number> = {
  revoked: 401,
  inactive: 401,
  narrowed: 403,
  blocked: 401,
  ended: 401,
  untouched: 200,
};

/** By the name of the key. */
export type Tokens = Record<string, string>;

/** Makes the keys, and takes a token of each that every instance accepts. */
export async function giveAccess(service: QueryService, instances: readonly RunningApp[]): Promise<Tokens> {
  const tokens: Tokens = {};
  for (const name of Object.keys(FINALLY)) {
    await service.setKey({ clientId: name, storeId: name === 'blocked' ? 'blocked' : 's1' });
    await eventually(`${name} is let in`, async () => {
      const { status, json } = await service.api.askToken(name, 'secret');
      if (status === 200) tokens[name] = (json as { access_token: string }).access_token;
      return status === 200;
    });
    for (const instance of instances) {
      await eventually(`${name} is served`, async () => (await statusOf(instance, tokens[name])) === 200);
    }
  }
  return tokens;
}

/** Stops the projector and takes away what each has. */
export async function takeAway({ installation, stopProjector }: QueryService, tokens: Tokens): Promise<void> {
  const { env, environment } = installation;
  await stopProjector();
  await Promise.all([
    runJson(env, ['keys', 'revoke', 'revoked']),
    runJson(env, ['keys', 'deactivate', 'inactive']),
    runJson(env, ['keys', 'scopes', 'narrowed', '--set', 'crm']),
    runJson(env, ['stores', 'block', 'blocked', '-e', environment]),
    runJson(env, ['sessions', 'revoke', '--token'], tokens['ended']),
  ]);
}

/** Whether every instance answers what it is to answer in the end. */
export async function isTakenAway(instances: readonly RunningApp[], tokens: Tokens): Promise<boolean> {
  for (const instance of instances) {
    for (const [name, status] of Object.entries(FINALLY)) {
      if ((await statusOf(instance, tokens[name])) !== status) return false;
    }
  }
  return true;
}

export async function statusOf({ api }: RunningApp, token = ''): Promise<number> {
  return (await api.get('/api/order/list', token)).status;
}

/** By the name of the key: every status that it was answered. */
type Seen = Record<string, Set<number>>;

/** Asks again and again, at every instance, with every token. */
export function hammer(instances: readonly RunningApp[], tokens: Tokens): () => Promise<Seen> {
  const seen: Seen = {};
  const state = { going: true };
  const asking = instances.map(async (instance) => {
    while (state.going) {
      const names = Object.keys(tokens);
      const statuses = await Promise.all(names.map((name) => statusOf(instance, tokens[name])));
      for (const [index, name] of names.entries()) (seen[name] ??= new Set()).add(statuses[index] ?? 0);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  });
  return async () => {
    state.going = false;
    await Promise.all(asking);
    return seen;
  };
}

export function expectNobodyWasLetIn(seen: Seen): void {
  for (const [name, status] of Object.entries(FINALLY)) {
    const expected = new Set([status, 503]);
    expect([name, [...(seen[name] ?? [])].filter((one) => !expected.has(one))]).toEqual([name, []]);
  }
}
