import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { openApi } from '#test/documented.ts';
import { breakingChanges } from './breaking-changes.ts';

const text = (path: string) => readFile(path, 'utf8');
const documentOf = async () => JSON.parse(await text('docs/openapi.json')) as Document;

interface Schema {
  type?: string | string[];
  enum?: string[];
  maximum?: number;
  required: string[];
  properties: Record<string, Schema>;
}
interface Operation {
  security: unknown;
  parameters: {
    name: string;
    in: string;
    required?: true;
    schema: Pick<Schema, 'type' | 'maximum'>;
  }[];
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, Schema>;
  };
}

/** Throws if the document lacks the value to change. */
function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the document has no such thing');
  return value;
}
const schema = (document: Document, name: string) => found(document.components.schemas[name]);
const orders = ({ paths }: Document) => found(paths['/api/order/list']?.['get']);
const itemCount = (document: Document) =>
  found(schema(document, 'OrderSummary').properties['item_count']);
const pageSize = (document: Document) =>
  found(orders(document).parameters.find(({ name }) => name === 'page_size')).schema;

it('the API changes nothing of a release that may break a client, except what the changelog says (CONTRIBUTING.md)', async () => {
  const released = JSON.parse(await text('docs/openapi.released.json')) as object;
  const [, unreleased = ''] = (await text('CHANGELOG.md')).split(/^## /m);
  expect(
    breakingChanges(released, openApi).filter((change) => !unreleased.includes(change)),
  ).toEqual([]);
});

describe('what may break a client is named:', () => {
  it.each<[string, (document: Document) => unknown, RegExp]>([
    ['a path', ({ paths }) => delete paths['/api/menu/'], /^paths\.\/api\/menu\/ is gone$/],
    ['a parameter', (d) => orders(d).parameters.shift(), /list\.get\.parameters\[page\] is gone$/],
    [
      'a parameter that is required',
      (d) =>
        orders(d).parameters.push({
          name: 'x',
          in: 'query',
          required: true,
          schema: { type: 'string' },
        }),
      /list\.get\.parameters\[x\]\.required: true is new$/,
    ],
    [
      'what a parameter takes',
      (d) => (pageSize(d).maximum = 50),
      /parameters\[page_size\]\.schema\.maximum: 9007199254740991 is gone$/,
    ],
    [
      'a word that is answered',
      (d) => schema(d, 'OrderStatus').enum?.push('lost'),
      /OrderStatus\.enum: "lost" is new$/,
    ],
    [
      'a field that may be absent',
      (d) => schema(d, 'OrderSummary').required.pop(),
      /OrderSummary\.required: "updated_at" is gone$/,
    ],
    ['a type', (d) => (itemCount(d).type = 'string'), /item_count\.type: "integer" is gone$/],
    ['null', (d) => (itemCount(d).type = ['integer', 'null']), /item_count\.type: "null" is new$/],
    [
      'a scope',
      (d) => (orders(d).security = [{ accessToken: ['order', 'crm'] }]),
      /list\.get\.security\[\{"accessToken":\["order"\]\}\] is gone$/,
    ],
    [
      'a field of a form',
      (d) => schema(d, 'TokenRequest').required.push('scope'),
      /TokenRequest\.required: "scope" is new$/,
    ],
  ])('%s', async (_what, change, words) => {
    const changed = await documentOf();
    change(changed);
    const changes = breakingChanges(openApi, changed);
    expect(changes).toContainEqual(expect.stringMatching(words));
    expect(changes.length).toBeLessThanOrEqual(2);
  });
});

describe('what breaks no client is not named:', () => {
  it.each<[string, (document: Document) => unknown]>([
    ['a new path', (d) => (d.paths['/api/new'] = found(d.paths['/api/menu/']))],
    [
      'a new parameter',
      (d) => orders(d).parameters.push({ name: 'x', in: 'query', schema: { type: 'string' } }),
    ],
    [
      'a new field',
      (d) => {
        const { properties, required } = schema(d, 'OrderSummary');
        properties['x'] = { type: 'string', required: [], properties: {} };
        required.push('x');
      },
    ],
    ['another order of words', (d) => schema(d, 'OrderStatus').enum?.reverse()],
    ['other words for people', (d) => Object.assign(orders(d), { summary: 'x', description: 'y' })],
  ])('%s', async (_what, change) => {
    const changed = await documentOf();
    change(changed);
    expect(breakingChanges(openApi, changed)).toEqual([]);
  });
});
