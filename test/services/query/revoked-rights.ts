/**
 * Revokes rights of keys, a store and a session while no projector runs, for tests in which Redis
 * loses data.
 */
import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import { heartbeatKey } from '#shared/access/grants.ts';
import { eventually } from '#test/eventually.ts';
import type { QueryService, RunningApp } from '#test/query-service.ts';
import { runJson } from '../admin/run-command.ts';

/** The status of each key after the revocations. */
export const FINAL_STATUS: Record<string, number> = {
  revoked: 401,
  inactive: 401,
  narrowed: 403,
  blocked: 401,
  ended: 401,
  untouched: 200,
};

export type Tokens = Record<string, string>;

/** Creates the keys, and gets a token for each that every instance accepts. */
export async function createKeys(service: QueryService, instances: readonly RunningApp[]) {
  const tokens: Tokens = {};
  for (const name of Object.keys(FINAL_STATUS)) {
    await service.setKey({ clientId: name, storeId: name === 'blocked' ? 'blocked' : 's1' });
    await eventually(`${name} gets a token`, async () => {
      const { status, json } = await service.api.askToken(name, 'secret');
      if (status === 200) tokens[name] = (json as { access_token: string }).access_token;
      return status === 200;
    });
    for (const instance of instances) {
      const isServed = async () => (await statusOf(instance, tokens[name])) === 200;
      await eventually(`${name} is served`, isServed);
    }
  }
  return tokens;
}

/** Stops the projector and revokes the rights. */
export async function revokeRights({ installation, stopProjector }: QueryService, tokens: Tokens) {
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

/** Whether every instance answers the final statuses. */
export async function areRevoked(instances: readonly RunningApp[], tokens: Tokens) {
  for (const instance of instances) {
    for (const [name, status] of Object.entries(FINAL_STATUS)) {
      if ((await statusOf(instance, tokens[name])) !== status) return false;
    }
  }
  return true;
}

export async function statusOf({ api }: RunningApp, token = '') {
  return (await api.get('/api/order/list', token)).status;
}

/** All answered statuses by key. */
type Seen = Record<string, Set<number>>;

/**
 * Sends requests to every instance with every token.
 * @returns a function that stops and returns the statuses.
 */
export function requestRepeatedly(instances: readonly RunningApp[], tokens: Tokens) {
  const seen: Seen = {};
  const state = { going: true };
  const asking = instances.map(async (instance) => {
    while (state.going) {
      const names = Object.keys(tokens);
      const statuses = await Promise.all(names.map((name) => statusOf(instance, tokens[name])));
      for (const [index, name] of names.entries())
        (seen[name] ??= new Set()).add(statuses[index] ?? 0);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
  return async () => {
    state.going = false;
    await Promise.all(asking);
    return seen;
  };
}

export function expectNoneAdmitted(seen: Seen) {
  for (const [name, status] of Object.entries(FINAL_STATUS))
    for (const one of seen[name] ?? []) expect([status, 503], name).toContain(one);
}

/**
 * Waits until so many instances have made a complete check of Redis, in which each writes a number
 * (decision 0045).
 */
export async function haveChecked(redis: Redis, prefix: string, instances = 2) {
  const numbers = async () => {
    const keys = await redis.keys(heartbeatKey(prefix, '*'));
    return new Map(
      await Promise.all(keys.map(async (key) => [key, Number(await redis.get(key))] as const)),
    );
  };
  // Twice, since the first check may have begun earlier.
  for (let check = 0; check < 2; check += 1) {
    const before = await numbers();
    await eventually('the instances have checked Redis', async () => {
      const now = await numbers();
      return (
        [...now].filter(([key, number]) => number > (before.get(key) ?? 0)).length >= instances
      );
    });
  }
}
