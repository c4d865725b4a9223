/** The OpenAPI document, made from what the routes of the API declare. The same routes give the same document, byte for byte. */
import type { RouteEntry } from '../types.ts';
import { NOT_MODIFIED } from './data-operation.ts';
import { REFUSALS } from './errors.ts';
import { HEADERS, REQUEST_HEADERS } from './headers.ts';
import { INFO, SECURITY_SCHEMES } from './info.ts';
import { type OperationObject, type ParameterObject, reference, type Reference, TAGS } from './objects.ts';
import { SchemaComponents } from './schemas.ts';

/** Makes the document of all routes, as an object that is ready for `JSON.stringify`. */
export function openApiDocument(routes: readonly RouteEntry[]): object {
  const documented = routes
    .filter(isDocumented)
    // HEAD is GET without a body.
    .filter(({ method }) => method !== 'HEAD')
    .toSorted((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : 1));
  const shared = sharedParameters(documented.map(({ operation }) => operation));
  const schemas = new SchemaComponents();
  const paths: Record<string, object> = {};
  for (const { method, path, operation } of documented) {
    const parameters = operation.parameters.map((parameter) => shorten(parameter, shared));
    const rendered = schemas.render({ ...operation, parameters });
    paths[path] = { ...paths[path], [method.toLowerCase()]: rendered };
  }
  const components = schemas.render({
    parameters: { ...Object.fromEntries(shared), ...REQUEST_HEADERS },
    headers: HEADERS,
    responses: { NotModified: NOT_MODIFIED, ...REFUSALS },
  }) as object;
  return {
    openapi: '3.1.0',
    info: INFO,
    servers: [{ url: '/', description: 'Where this document comes from.' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: { schemas: schemas.all(), ...components, securitySchemes: SECURITY_SCHEMES },
  };
}

type DocumentedRoute = RouteEntry & { operation: OperationObject };

function isDocumented(route: RouteEntry): route is DocumentedRoute {
  return route.operation !== null;
}

/** Paths stand in the order of their tags. */
function rank({ operation }: DocumentedRoute): number {
  return Object.keys(TAGS).indexOf(operation.tags[0]);
}

/** Parameters that several operations have, by name. Where one name means different things, the most common one. */
function sharedParameters(operations: readonly OperationObject[]): Map<string, ParameterObject> {
  const uses = new Map<string, { parameter: ParameterObject; count: number }>();
  for (const parameter of operations.flatMap(({ parameters }) => parameters)) {
    if ('$ref' in parameter) continue;
    const text = JSON.stringify(parameter);
    const known = uses.get(text);
    uses.set(text, { parameter, count: (known?.count ?? 0) + 1 });
  }
  const shared = [...uses.values()].filter(({ count }) => count > 1).sort((a, b) => a.count - b.count);
  return new Map(shared.map(({ parameter }) => [parameter.name, parameter]));
}

function shorten(
  parameter: ParameterObject | Reference,
  shared: ReadonlyMap<string, ParameterObject>,
): ParameterObject | Reference {
  if ('$ref' in parameter) return parameter;
  const component = shared.get(parameter.name);
  return JSON.stringify(component) === JSON.stringify(parameter)
    ? reference('parameters', parameter.name)
    : parameter;
}
