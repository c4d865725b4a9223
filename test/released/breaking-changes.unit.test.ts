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
  responses: Record<string, { headers: Record<string, object>; content: Record<string, object> }>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, Schema>;
    responses: Operation['responses'];
  };
}

/** Throws if the document lacks the value to change. */
function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the document has no such thing');
  return value;
}
const schema = (document: Document, name: string) => found(document.components.schemas[name]);
const orders = ({ paths }: Document) => found(paths['/api/order/list']?.['get']);
const pageSize = (document: Document) =>
  found(orders(document).parameters.find(({ name }) => name === 'page_size')).schema;

it('the API breaks nothing of a release except what the changelog says (CONTRIBUTING.md)', async () => {
  const released = JSON.parse(await text('docs/openapi.released.json')) as object;
  const [, unreleased = ''] = (await text('CHANGELOG.md')).split(/^## /m);
  expect(
    breakingChanges(released, openApi).filter((change) => !unreleased.includes(change)),
  ).toEqual([]);
});

describe('a breaking change is found', () => {
  it.each<[string, (document: Document) => unknown, RegExp]>([
    ['a path', ({ paths }) => delete paths['/api/menu/'], /^GET \/api\/menu\/: is gone$/],
    ['a status', (d) => delete orders(d).responses['503'], /list: 503 is no longer documented$/],
    ['a parameter', (d) => orders(d).parameters.shift(), /list: the parameter \w+ is gone$/],
    [
      'a parameter that is required',
      (d) =>
        orders(d).parameters.push({
          name: 'x',
          in: 'query',
          required: true,
          schema: { type: 'string' },
        }),
      /the parameter x is required$/,
    ],
    [
      'what a parameter takes',
      (d) => (pageSize(d).maximum = 50),
      /list: parameter page_size can no longer be of another maximum$/,
    ],
    [
      'a word that a parameter takes',
      (d) => schema(d, 'OrderStatus').enum?.pop(),
      /GET \/api\/order\/list: parameter status\[\] can no longer be cancelled$/,
    ],
    [
      'a word that is answered',
      (d) => schema(d, 'OrderStatus').enum?.push('lost'),
      /GET \/api\/order\/details\/: 200.status may now be lost$/,
    ],
    [
      'a field',
      (d) => {
        const { properties, required } = schema(d, 'OrderSummary');
        delete properties['total'];
        required.splice(required.indexOf('total'), 1);
      },
      /list: 200.results\[\].total may now be absent$/,
    ],
    [
      'a type',
      (d) => (found(schema(d, 'OrderSummary').properties['item_count']).type = 'string'),
      /200.results\[\].item_count may now be string$/,
    ],
    [
      'null',
      (d) => (found(schema(d, 'OrderSummary').properties['item_count']).type = ['integer', 'null']),
      /changes: 200.results\[\].record.item_count may now be null$/,
    ],
    [
      'a code',
      (d) => (found(schema(d, 'NotFoundError').properties['code']).enum = ['gone']),
      /details\/: 404.code may now be gone$/,
    ],
    [
      'a header',
      (d) => delete found(d.components.responses['RateLimitExceeded']).headers['Retry-After'],
      /429 may lack the header Retry-After$/,
    ],
    [
      'a scope',
      (d) => (orders(d).security = [{ accessToken: ['order', 'crm'] }]),
      /list: requires \[{"accessToken":\["order","crm"\]}\]$/,
    ],
    [
      'a field of a form',
      (d) => schema(d, 'TokenRequest').required.push('scope'),
      /token\/: the body.scope can no longer be absent$/,
    ],
  ])('%s', async (_what, change, words) => {
    const changed = await documentOf();
    change(changed);
    const changes = breakingChanges(openApi, changed);
    expect(changes).toContainEqual(expect.stringMatching(words));
    expect(
      changes.filter(
        (line) => !words.test(line) && !/Order|order|page_size|429|404|api\/changes/.test(line),
      ),
    ).toEqual([]);
  });
});

describe('not a breaking change', () => {
  it.each<[string, (document: Document) => unknown]>([
    ['a new path', (d) => (d.paths['/api/new'] = found(d.paths['/api/menu/']))],
    [
      'a new parameter',
      (d) => orders(d).parameters.push({ name: 'x', in: 'query', schema: { type: 'string' } }),
    ],
    [
      'a new field',
      (d) => {
        schema(d, 'OrderSummary').properties['x'] = {
          type: 'string',
          required: [],
          properties: {},
        };
        schema(d, 'OrderSummary').required.push('x');
      },
    ],
    [
      'a field that is never null',
      (d) =>
        (schema(d, 'Order').properties['notes'] = { type: 'string', required: [], properties: {} }),
    ],
    ['more that a parameter takes', (d) => delete pageSize(d).maximum],
    ['another order of words', (d) => schema(d, 'OrderStatus').enum?.reverse()],
  ])('is %s', async (_what, change) => {
    const changed = await documentOf();
    change(changed);
    expect(breakingChanges(openApi, changed)).toEqual([]);
  });
});
