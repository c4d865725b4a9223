import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { openApi } from '#test/documented.ts';

type JsonObject = Record<string, unknown>;

/** Every object of the document with its path. */
function* objects(value: unknown, way = '#'): Generator<[way: string, object: JsonObject]> {
  if (typeof value !== 'object' || value === null) return;
  yield [way, value as JsonObject];
  for (const [name, member] of Object.entries(value)) {
    // Examples are data.
    if (name !== 'example' && name !== 'examples') yield* objects(member, `${way}/${name}`);
  }
}

describe('the OpenAPI document', () => {
  it('equals docs/openapi.json: npm run openapi updates it', async () => {
    const committed = await readFile('docs/openapi.json', 'utf8');
    expect(JSON.parse(committed)).toEqual(openApi);
  });

  it('allows fields of later releases in every object of an answer', () => {
    const closed = [...objects(openApi)].filter(([way, object]) => {
      const { type, additionalProperties, properties } = object;
      const isObject = way.startsWith('#/components/schemas/') && type === 'object';
      return isObject && Object.keys(properties ?? {}).length > 0 && additionalProperties !== true;
    });
    // A form is not an answer.
    expect(closed.map(([way]) => way)).toEqual(['#/components/schemas/TokenRequest']);
  });

  it('says of each integer that may need more than 32 bits that it does', () => {
    const wide = [...objects(openApi)].filter(
      ([, { type, maximum = Infinity }]) =>
        [type].flat().includes('integer') && Number(maximum) >= 2 ** 31,
    );
    expect(wide.length).toBeGreaterThan(10);
    for (const [way, { format }] of wide) expect(format, way).toBe('int64');
  });

  it('has a type beside each list of words, and no format of date-times in a request', () => {
    for (const [way, object] of objects(openApi)) {
      if ('enum' in object) expect(object['type'], way).toEqual(expect.anything());
      if (/\/parameters\/\d+$/.test(way))
        expect(JSON.stringify(object)).not.toMatch(/date-time|LocalDateTime/);
    }
  });
});
