import { beforeAll, expect, it } from 'vitest';
import { useQueryService } from '#test/hooks.ts';
import { openApi } from '#test/documented.ts';

const service = useQueryService();
let token: string;

beforeAll(async () => {
  token = await service.tokenFor('s1');
});

interface JsonSchema {
  items?: JsonSchema;
  enum?: string[];
  type?: string;
  minimum?: number;
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema: JsonSchema;
  example?: string | number;
  examples?: { example: { value: string | number } };
}

function resolved<T>(object: T): T {
  const reference = (object as { $ref?: string }).$ref;
  if (reference === undefined) return object;
  const [, , kind = '', name = ''] = reference.split('/');
  return { ...(openApi.components[kind]?.[name] as T), ...object };
}

/** Values that the document allows, at least one. */
function valuesOf({ schema, examples, example = examples?.example.value }: Parameter) {
  const single = resolved(schema.items ?? schema);
  if (single.enum !== undefined) return single.enum;
  if (single.type === 'boolean') return ['true', 'false'];
  return [String(example ?? single.minimum)];
}

it('GET /openapi.json is public, and compressed well', async () => {
  const headers = { 'accept-encoding': 'br' };
  const answer = await service.api.call('/openapi.json', { headers });
  expect([answer.status, answer.headers.get('content-encoding')]).toEqual([200, 'br']);
  expect(Number(answer.headers.get('content-length'))).toBeLessThan(50_000);
  expect(answer.json).toEqual(openApi);
  expect(answer.headers.get('cache-control')).toBe('public, max-age=300');
});

it('the document has the parameters of endpoints with values that they accept', async () => {
  for (const [path, { get }] of Object.entries(openApi.paths)) {
    if (get === undefined || !path.startsWith('/api/')) continue;
    const parameters = (get as unknown as { parameters: Parameter[] }).parameters
      .map(resolved)
      .filter((parameter) => parameter.in === 'query');
    const { text } = await service.api.get(`${path}?unheard=of`, token);
    const taken = /allowed: (.+)"/.exec(text)?.[1]?.split(', ') ?? [];
    expect([path, ...parameters.map(({ name }) => name)]).toEqual([path, ...taken]);
    const needed = parameters.filter(({ required }) => required);
    for (const parameter of parameters) {
      // A cursor is valid only for its own feed, store and environment.
      const values = parameter.name === 'after' ? ['now'] : valuesOf(parameter);
      for (const value of values) {
        const pairs: [string, string][] = needed.map((other) => [
          other.name,
          valuesOf(other)[0] ?? '',
        ]);
        if (!parameter.required) pairs.push([parameter.name, value]);
        const target = `${path}?${new URLSearchParams(pairs).toString()}`;
        const { status } = await service.api.get(target, token);
        expect([200, 404].includes(status), target).toBe(true);
      }
    }
  }
});
