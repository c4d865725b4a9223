/** A route of its own, since nothing is deprecated today. */
import fastify, { type FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { dataRoute } from '#query/data-endpoint.ts';
import { always } from '#query/openapi/data-operation.ts';
import { openApiDocument } from '#query/openapi/document.ts';
import { searchText } from '#query/parameters/kinds.ts';
import { optional } from '#query/parameters/parameter.ts';
import { keepQuery } from '#query/parameters/read.ts';
import routesTable from '../../../../services/query/plugins/routes-table.ts';

const schema = Type.Object({}, { description: 'Nothing.', examples: [{}] });
const quota = { allowed: true, limit: 1, remaining: 1, resetSeconds: 1, windowSeconds: 1 };
const text = (deprecation?: { since: string; sunset?: string; instead: string }) =>
  optional(searchText, { description: 'Text.', ...(deprecation && { deprecation }) });

let app: FastifyInstance;

beforeAll(async () => {
  app = fastify({ exposeHeadRoutes: false, routerOptions: { querystringParser: keepQuery } });
  app.decorateRequest('caller', null).decorateRequest('values', null);
  app.decorate('authenticate', async (request) => {
    request.caller = { clientId: 'c', storeId: 's', environment: 'e', scopes: ['menu'], quota };
  });
  await app.register(routesTable);
  const route = (path: string, deprecation?: { since: string; instead: string }) =>
    dataRoute(
      {
        path,
        scopes: ['menu'],
        parameters: {
          text: text(),
          old: text({ since: '2027-01-01', sunset: '2027-07-01', instead: 'Use `text`.' }),
          older: text({ since: '2026-12-01', instead: 'Use `text`.' }),
        },
        documentation: {
          operationId: `get${path.slice(1)}`,
          tag: 'Menu',
          summary: 'A route',
          description: 'A route.',
          answer: always(schema),
          ...(deprecation && { deprecation }),
        },
      },
      'private, no-cache',
      async (_app, _request, reply) => reply.send('{}'),
    );
  await app.register(route('/now'));
  await app.register(route('/gone-soon', { since: '2026-11-01', instead: 'Use `/now`.' }));
});
afterAll(() => app.close());

it.each([
  ['/now', 200, undefined, undefined],
  ['/now?text=a', 200, undefined, undefined],
  ['/now?old=a', 200, '@1798761600', 'Thu, 01 Jul 2027 00:00:00 GMT'],
  ['/now?old=a&older=b', 200, '@1796083200', 'Thu, 01 Jul 2027 00:00:00 GMT'],
  ['/gone-soon', 200, '@1793491200', undefined],
  ['/gone-soon?old=a', 200, '@1793491200', 'Thu, 01 Jul 2027 00:00:00 GMT'],
])('%s is answered with what it uses of what is deprecated', async (url, status, deprecation, sunset) => {
  const { statusCode, headers } = await app.inject(url);
  expect([statusCode, headers['deprecation'], headers['sunset']]).toEqual([status, deprecation, sunset]);
});

it('is told by a refusal too', async () => {
  const { statusCode, headers } = await app.inject('/gone-soon?nope=1');
  expect([statusCode >= 400, headers['deprecation']]).toEqual([true, '@1793491200']);
});

it('is marked in the OpenAPI document', () => {
  const document = openApiDocument(app.routeTable) as {
    paths: Record<string, { get: { deprecated?: true; description: string } }>;
    components: { parameters: Record<string, { deprecated?: true; description: string }> };
  };
  const { '/now': now, '/gone-soon': soon } = document.paths;
  expect(now?.get.deprecated).toBeUndefined();
  expect(soon?.get).toMatchObject({
    deprecated: true,
    description: expect.stringMatching(/\n\nDeprecated since 2026-11-01\. Use `\/now`\.$/) as string,
  });
  const { text: current, old } = document.components.parameters;
  expect(current?.deprecated).toBeUndefined();
  expect(old).toMatchObject({
    deprecated: true,
    description: 'Text.\n\nDeprecated since 2027-01-01, and may be gone from 2027-07-01 on. Use `text`.',
  });
});
