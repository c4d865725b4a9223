import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { openApi } from '#test/documented.ts';
import { breakingChanges } from './breaking-changes.ts';

const text = (path: string) => readFile(path, 'utf8');

it('the API changes nothing of a release that may break a client, except what the changelog says (CONTRIBUTING.md)', async () => {
  const released = JSON.parse(await text('docs/openapi.released.json')) as object;
  const [, unreleased = ''] = (await text('CHANGELOG.md')).split(/^## /m);
  expect(
    breakingChanges(released, openApi).filter((change) => !unreleased.includes(change)),
  ).toEqual([]);
});

/** An example of each thing that an OpenAPI document says. */
const RELEASED = {
  paths: {
    '/menu': {},
    '/orders': {
      summary: 'Lists orders',
      parameters: [{ name: 'page', maximum: 9 }],
      security: [{ token: ['order'] }],
    },
  },
  schemas: {
    Order: { required: ['id', 'total'], properties: { id: { type: 'integer' } } },
    Status: { enum: ['open', 'closed'] },
    TokenRequest: { required: ['grant'] },
  },
};

/** What may break a client once this text of the document is replaced. */
function changesBy(text: string, replacement: string): string[] {
  const released = JSON.stringify(RELEASED);
  expect(released).toContain(text);
  return breakingChanges(RELEASED, JSON.parse(released.replace(text, replacement)) as object);
}

describe('what may break a client is named:', () => {
  it.each([
    ['a path', '"/menu"', '"/new"', 'paths./menu is gone'],
    ['a parameter', '{"name":"page","maximum":9}', '', 'paths./orders.parameters[page] is gone'],
    [
      'a parameter that is required',
      '"parameters":[',
      '"parameters":[{"name":"x","required":true},',
      'paths./orders.parameters[x].required: true is new',
    ],
    [
      'what a parameter takes',
      '"maximum":9',
      '"maximum":5',
      'paths./orders.parameters[page].maximum: 9 is gone',
    ],
    [
      'a word that is answered',
      '"closed"',
      '"closed","lost"',
      'schemas.Status.enum: "lost" is new',
    ],
    ['a field that may be absent', ',"total"', '', 'schemas.Order.required: "total" is gone'],
    ['a type', '"integer"', '"string"', 'schemas.Order.properties.id.type: "integer" is gone'],
    ['null', '"integer"', '["integer","null"]', 'schemas.Order.properties.id.type: "null" is new'],
    [
      'a scope',
      '["order"]',
      '["order","crm"]',
      'paths./orders.security[{"token":["order"]}] is gone',
    ],
    [
      'a field of a form',
      '"grant"',
      '"grant","scope"',
      'schemas.TokenRequest.required: "scope" is new',
    ],
  ])('%s', (_what, before, after, named) => {
    const changes = changesBy(before, after);
    expect(changes).toContain(named);
    expect(changes.length).toBeLessThanOrEqual(2);
  });
});

describe('what breaks no client is not named:', () => {
  it.each([
    ['a new path', '"/menu":{}', '"/menu":{},"/new":{}'],
    ['a new parameter', '"parameters":[', '"parameters":[{"name":"x"},'],
    ['a new field', '"total"],"properties":{', '"total","x"],"properties":{"x":{"type":"string"},'],
    ['another order of words', '"open","closed"', '"closed","open"'],
    ['other words for people', 'Lists orders', 'Shows orders'],
  ])('%s', (_what, before, after) => {
    expect(changesBy(before, after)).toEqual([]);
  });
});
