/** The OpenAPI document, made from what the routes of the API declare. The same routes give the same document, byte for byte. */
import { NOT_MODIFIED, TOKEN_SCHEME } from './data-operation.ts';
import { REFUSALS } from './errors.ts';
import {
  HEADERS,
  REQUEST_HEADERS,
  type OperationObject,
  type ParameterObject,
  reference,
  type Reference,
  TAGS,
} from './objects.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SCOPES, type Scope } from '#shared/events/access-event.ts';
import { RELEASE } from '#shared/release.ts';
import { CLIENT_SCHEME } from './service-operations.ts';
import { TOKEN_PATH } from '../responses/send.ts';

/** What the document needs of a route. */
export interface DescribedRoute {
  /** `GET` stands for `HEAD` too. */
  method: 'GET' | 'POST';
  path: string;
  /** `null` for pages, about which the document says nothing. */
  operation: OperationObject | null;
}

/** Makes the document of all routes, as an object that is ready for `JSON.stringify`. */
export function openApiDocument(routes: readonly DescribedRoute[]): object {
  const documented = routes
    .filter(isDocumented)
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

type DocumentedRoute = DescribedRoute & { operation: OperationObject };

function isDocumented(route: DescribedRoute): route is DocumentedRoute {
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

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
type JsonObject = { readonly [name: string]: Json };

/** Collects the components while schemas are rendered. */
export class SchemaComponents {
  readonly #components = new Map<string, { rendered: JsonObject; source: string }>();

  /** A whole object of the document, with all schemas in it. */
  render(value: unknown): Json {
    return this.#render(JSON.parse(JSON.stringify(value)) as Json);
  }

  /** The components so far, by name. */
  all(): Record<string, JsonObject> {
    const sorted = [...this.#components].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(sorted.map(([name, { rendered }]) => [name, rendered]));
  }

  #render(value: Json): Json {
    if (Array.isArray(value)) return (value as readonly Json[]).map((item) => this.#render(item));
    if (!isObject(value)) return value;
    return isComponent(value) ? this.#component(value) : this.#plain(value);
  }

  #component(schema: JsonObject & { title: string }): JsonObject {
    const name = schema.title;
    const source = JSON.stringify(schema);
    const known = this.#components.get(name);
    if (known !== undefined && known.source !== source)
      throw new Error(`there are two schemas called ${name}`);
    if (known === undefined) {
      const { title: _title, ...rest } = schema;
      this.#components.set(name, { rendered: this.#plain(rest), source });
    }
    return { ...reference('schemas', name) };
  }

  #plain(object: JsonObject): JsonObject {
    const { anyOf, ...rest } = object;
    if (Array.isArray(anyOf)) return this.#union(anyOf as readonly Json[], rest);
    return Object.fromEntries(
      // Examples are data, not schemas.
      Object.entries(object).map(([name, member]) => [
        name,
        name === 'examples' || name === 'example' ? member : this.#render(member),
      ]),
    );
  }

  #union(alternatives: readonly Json[], about: JsonObject): JsonObject {
    const types = alternatives.filter((type) => !isNull(type));
    const hasNull = types.length < alternatives.length;
    const [only] = types;
    if (types.length !== 1 || !isObject(only ?? null)) {
      return { anyOf: alternatives.map((type) => this.#render(type)), ...about };
    }
    const type = this.#render(only ?? null) as JsonObject;
    if (!hasNull) return { ...type, ...about };
    if (typeof type['type'] === 'string' && !('enum' in type) && !('const' in type)) {
      return { ...type, type: [type['type'], 'null'], ...about };
    }
    return { anyOf: [type, { type: 'null' }], ...about };
  }
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isComponent(value: JsonObject): value is JsonObject & { title: string } {
  return typeof value['title'] === 'string' && ('type' in value || 'enum' in value);
}

function isNull(value: Json): boolean {
  return isObject(value) && value['type'] === 'null';
}

/** For those who have nothing else to read. */
const DESCRIPTION = readFileSync(join(import.meta.dirname, 'info.md'), 'utf8').trim();

/** Raised with every change that clients can notice. */

export const INFO = {
  title: 'Store Data API',
  version: RELEASE.version,
  summary: 'Read-only access to the data of one store',
  description: DESCRIPTION,
  contact: { name: 'The operator who gave you your API key' },
  license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
};

const SCOPE_MEANINGS: Record<Scope, string> = {
  store: 'The store’s own record and its coupons.',
  crm: 'Customers, reviews and campaigns.',
  order: 'Orders.',
  menu: 'The menu, categories, products and option groups.',
};

export const SECURITY_SCHEMES = {
  [TOKEN_SCHEME]: {
    type: 'oauth2',
    description:
      'A short-lived bearer token, bound to one store and one environment: a JWT that follows RFC8725.',
    flows: {
      clientCredentials: {
        tokenUrl: TOKEN_PATH,
        scopes: Object.fromEntries(SCOPES.map((scope) => [scope, SCOPE_MEANINGS[scope]])),
      },
    },
  },
  [CLIENT_SCHEME]: {
    type: 'http',
    scheme: 'basic',
    description:
      'The key: `client_id` as the user, `client_secret` as the password. For the token endpoint alone.',
  },
};
