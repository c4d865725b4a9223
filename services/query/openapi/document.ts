/**
 * The OpenAPI document, made from what the routes of the API declare. The same routes give the same
 * document, byte for byte.
 */
import { CLIENT_SCHEME, NOT_MODIFIED, TOKEN_SCHEME } from './operations.ts';
import { REFUSALS } from './errors.ts';
import { HEADERS, type OperationObject, REQUEST_HEADERS, TAGS } from './objects.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Scope } from '#shared/events/access-event.ts';
import { RELEASE } from '#shared/read-models/generation.ts';
import { COMPONENT, type Schema } from '#shared/records/answer.ts';
import { TOKEN_PATH } from '../responses/send.ts';

export interface DescribedRoute {
  /** `GET` stands for `HEAD` too. */
  method: 'GET' | 'POST';
  path: string;
  /** `null` for pages: the document does not show them. */
  operation: OperationObject | null;
}

export function openApiDocument(routes: readonly DescribedRoute[]): object {
  const documented = routes
    .filter((route) => route.operation !== null)
    .toSorted((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : 1));
  const paths: Record<string, object> = {};
  for (const { method, path, operation } of documented) {
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
  }
  const components = {
    parameters: REQUEST_HEADERS,
    headers: HEADERS,
    responses: { NotModified: NOT_MODIFIED, ...REFUSALS },
  };
  const schemas = [...schemasIn([paths, components])].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    openapi: '3.1.0',
    info: INFO,
    servers: [{ url: '/', description: 'Where this document comes from.' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: Object.fromEntries(schemas),
      ...components,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

function rank({ operation }: DescribedRoute): number {
  return Object.keys(TAGS).indexOf(operation?.tags[0] ?? '');
}

function schemasIn(value: unknown, found = new Map<string, Schema>()): Map<string, Schema> {
  if (typeof value !== 'object' || value === null) return found;
  const { [COMPONENT]: component } = value as Schema;
  if (component !== undefined) {
    const { name, schema } = component;
    const known = found.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema))
      throw new Error(`there are two schemas called ${name}`);
    found.set(name, schema);
    if (known === undefined) schemasIn(schema, found);
  }
  for (const member of Object.values(value)) schemasIn(member, found);
  return found;
}

const INFO = {
  title: 'Store Data API',
  version: RELEASE.version,
  summary: 'Read-only access to the data of one store',
  description: readFileSync(join(import.meta.dirname, 'info.md'), 'utf8').trim(),
  contact: { name: 'The operator who gave you your API key' },
  license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
};

const SECURITY_SCHEMES = {
  [TOKEN_SCHEME]: {
    type: 'oauth2',
    description:
      'A short-lived bearer token, bound to one store and one environment: a JWT that follows RFC8725.',
    flows: {
      clientCredentials: {
        tokenUrl: TOKEN_PATH,
        scopes: {
          store: 'The store’s own record and its coupons.',
          crm: 'Customers, reviews and campaigns.',
          order: 'Orders.',
          menu: 'The menu, categories, products and option groups.',
        } satisfies Record<Scope, string>,
      },
    },
  },
  [CLIENT_SCHEME]: {
    type: 'http',
    scheme: 'basic',
    description:
      'The key: `client_id` as the user, `client_secret` as the password. Only for the token endpoint.',
  },
};
