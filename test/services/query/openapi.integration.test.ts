import { beforeAll, expect, it } from 'vitest';
import { useQueryService } from '#test/hooks.ts';
import { type Declared, declaredFor, PATHS, wordsOf } from '#test/declared-parameters.ts';
import { openApi } from '#test/documented.ts';

const service = useQueryService();
let token: string;

beforeAll(async () => {
  token = await service.tokenFor('s1');
});

/** A cursor is valid only for its own feed, store and environment. */
const VALUES: Record<string, string[]> = {
  after: ['now'],
  rating: ['5'],
  active: ['true', 'false'],
};

/** Values that the document allows, at least one. */
const valuesOf = ({ name, schema, examples, example = examples?.example.value }: Declared) =>
  VALUES[name] ?? wordsOf(schema) ?? [String(example ?? schema.minimum)];

it('GET /openapi.json is public, and compressed well', async () => {
  const headers = { 'accept-encoding': 'br' };
  const answer = await service.api.call('/openapi.json', { headers });
  expect([answer.status, answer.headers.get('content-encoding')]).toEqual([200, 'br']);
  expect(Number(answer.headers.get('content-length'))).toBeLessThan(50_000);
  expect(answer.json).toEqual(openApi);
  expect(answer.headers.get('cache-control')).toBe('public, max-age=300');
});

it('the document has the parameters of endpoints with values that they accept', async () => {
  for (const path of PATHS) {
    const parameters = declaredFor(path);
    const { text } = await service.api.get(`${path}?unheard=of`, token);
    const taken = /allowed: (.+)"/.exec(text)?.[1]?.split(', ') ?? [];
    expect([path, ...parameters.map(({ name }) => name)]).toEqual([path, ...taken]);
    const needed = parameters.filter(({ required }) => required);
    for (const parameter of parameters) {
      for (const value of valuesOf(parameter)) {
        const pairs = new Map(needed.map((other) => [other.name, valuesOf(other)[0] ?? '']));
        pairs.set(parameter.name, value);
        const target = `${path}?${new URLSearchParams([...pairs]).toString()}`;
        const { status } = await service.api.get(target, token);
        expect([200, 404].includes(status), target).toBe(true);
      }
    }
  }
});
