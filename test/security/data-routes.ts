/** The data endpoints as the app itself lists them, so that no attack can forget a new one. */
import type { FastifyInstance } from 'fastify';
import type { Scope } from '#shared/events/access-event.ts';

export interface DataRoute {
  path: string;
  scopes: readonly Scope[];
  /** Names of all parameters. */
  parameters: string[];
  /** Those without which the endpoint answers nothing: the ids of details endpoints. */
  required: string[];
}

/** Every data endpoint. */
export function dataRoutes({ routes }: FastifyInstance): DataRoute[] {
  return routes.flatMap(({ path, operation }) => {
    const scopes = operation?.security[0]?.['accessToken'] as readonly Scope[] | undefined;
    if (operation === null || scopes === undefined) return [];
    const ofQuery = operation.parameters.flatMap((one) => ('in' in one && one.in === 'query' ? [one] : []));
    const required = ofQuery.filter((one) => one.required === true);
    return [{ path, scopes, parameters: namesOf(ofQuery), required: namesOf(required) }];
  });
}

const namesOf = (parameters: readonly { name?: unknown }[]) => parameters.map(({ name }) => String(name));

/** The address of an endpoint with the parameters that it requires, and others. */
export function targetOf({ path, required }: DataRoute, id: string, more: readonly string[] = []): string {
  const pairs = [...required.map((name) => `${name}=${id}`), ...more];
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
}
