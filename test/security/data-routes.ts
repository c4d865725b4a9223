/** The data endpoints, read from the app, so that attacks include every new one. */
import type { FastifyInstance } from 'fastify';
import type { Scope } from '#shared/events/access-event.ts';

export interface DataRoute {
  path: string;
  scopes: readonly Scope[];
  parameters: string[];
  /** The names of required parameters: ids of details endpoints. */
  required: string[];
}

export function dataRoutes({ routes }: FastifyInstance): DataRoute[] {
  return routes.flatMap(({ path, operation }) => {
    const scopes = operation?.security[0]?.['accessToken'] as readonly Scope[] | undefined;
    if (operation === null || scopes === undefined) return [];
    const ofQuery = operation.parameters.filter((one) => 'in' in one && one.in === 'query');
    const required = ofQuery.filter((one) => 'required' in one && one.required === true);
    return [{ path, scopes, parameters: namesOf(ofQuery), required: namesOf(required) }];
  });
}

const namesOf = (parameters: readonly { name?: unknown }[]) =>
  parameters.map(({ name }) => String(name));

/** The target of a request with the required parameters and more. */
export function targetOf(
  { path, required }: DataRoute,
  id: string,
  more: readonly string[] = [],
): string {
  const pairs = [...required.map((name) => `${name}=${id}`), ...more];
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
}
