import { describe, expect, it } from 'vitest';
import { customersIn } from '#shared/projection/dead-letters/letter.ts';
import { times } from '#test/times.ts';

const message = (value: unknown, headers = {}, key: string | null = 's1') => ({
  key: key === null ? null : Buffer.from(key),
  value: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
  headers,
});

/** An order that is valid JSON of a known type. */
const order = (data: unknown, more: object = {}) => ({
  type: 'store-data.order.changed',
  storeid: 's1',
  subject: 'o1',
  data,
  ...more,
});
const customer = (more: object) => ({
  type: 'store-data.customer.changed',
  storeid: 's1',
  data: { name: 'Maria da Silva' },
  ...more,
});

describe('customersIn', () => {
  it.each([
    ['a customer’s event', customer({ subject: '123' })],
    ['one whose subject is a number', customer({ subject: 123 })],
    ['one whose id is in the data alone', customer({ data: { id: 123, name: 'Maria da Silva' } })],
    ['an order', order({ total: 7, customer: { id: '123', name: 'Maria' } })],
    ['an order with a list', order({ customers: [{ id: 123, name: 'Maria da Silva' }] })],
    ['an id with blanks', order({ customer: { id: ' 123 ' } })],
    ['other spellings', order({ customerId: '123' })],
    ['a customer who is a scalar', order({ customer: 123 })],
    ['a customer deep in the data', order({ extra: [{ buyer: { details: { user_id: '123' } } }] })],
    ['an attribute of the event', order({ total: 'x' }, { customerid: '123' })],
    ['data as a text', order(JSON.stringify({ customer: { id: 123 } }))],
    [
      'data in base64',
      order(undefined, { data_base64: Buffer.from('{"customer_id":123}').toString('base64') }),
    ],
  ])('ties %s to the customer alone', (_what, event) => {
    expect(customersIn(message(event))).toEqual(['s1/123']);
  });

  it.each([
    ['an order without a customer', order({ total: 'x', customer: null })],
    ['a product', { ...order({ name: 7 }), type: 'store-data.product.changed' }],
    ['a store', { type: 'store-data.store.deleted', storeid: 's1' }],
  ])('ties %s to nobody', (_what, event) => {
    expect(customersIn(message(event))).toEqual([]);
  });

  it.each<[string, unknown, ...string[]]>([
    ['no JSON', 'Maria da Silva'],
    ['JSON that is cut', '{"type":"store-data.order.changed","data":{"customer":{"id":"123"'],
    ['no object', '["Maria da Silva"]'],
    ['no type', { data: { customer_id: 'c3' } }, 's1/c3'],
    ['an unknown type', { type: 'store-data.customers.changed', subject: '123' }, 's1/123'],
    ['a customer without an id', customer({})],
    ['a subject that is no id', customer({ subject: 'customers/123' })],
    ['an order whose customer has no id', order({ customer: { name: 'Maria da Silva' } })],
    ['an order whose customer is a name', order({ customer: 'Maria da Silva' })],
    ['an id that is no id', order({ customer: { id: 'a/b' }, customer_id: 'c2' }), 's1/c2'],
    ['a number that JSON does not keep', order({ customer: { id: 1e30 } })],
    ['data that is no object', order('Maria da Silva')],
  ])('ties a message with %s to anybody of the store', (_what, value, ...others) => {
    expect(customersIn(message(value))).toEqual([...others, 's1/']);
  });

  it('ties a message with more than 100 customers to anybody of the store', () => {
    const all = order({ customers: times(101, (id) => ({ id })) });
    expect(customersIn(message(all))).toContain('s1/');
  });

  it('ties a message that names no store to anybody at all', () => {
    expect(customersIn(message('Maria da Silva', {}, null))).toEqual(['/']);
    expect(customersIn(message('Maria da Silva', {}, 'no id'))).toEqual(['/']);
    expect(customersIn({ key: null, value: null })).toEqual(['/']);
  });

  it('returns every possible store', () => {
    const event = order({ customer_id: 'c3' }, { storeid: 2 });
    expect(customersIn(message(event))).toEqual(['2/c3', 's1/c3']);
    expect(customersIn(message(event, {}, null))).toEqual(['2/c3']);
  });

  it('reads binary mode', () => {
    const headers = {
      ce_type: Buffer.from('store-data.customer.changed'),
      ce_subject: 'c1',
      CE_storeid: [Buffer.from('s1')],
    };
    expect(customersIn(message({ customer_id: 'c9' }, headers))).toEqual(['s1/c1', 's1/c9']);
    expect(customersIn(message('no JSON', headers))).toEqual(['s1/c1', 's1/']);
  });

  it('reads structured mode with headers of binary mode, if the content type says so', () => {
    const event = { ...order({ customer: { id: 'c2' } }), storeid: 's2' };
    const headers = {
      ce_x: 'stray',
      'Content-Type': Buffer.from('application/cloudevents+json; charset=utf-8'),
    };
    expect(customersIn(message(event, headers))).toEqual(['s2/c2', 's1/c2']);
    expect(customersIn(message(event, { 'content-type': 'text/plain' }))).toEqual([
      's2/c2',
      's1/c2',
    ]);
  });

  it('reads binary mode too where the content type is wrong', () => {
    const headers = {
      ce_type: 'store-data.customer.changed',
      ce_subject: 'c1',
      'content-type': 'application/cloudevents+json',
    };
    expect(customersIn(message({ name: 'Ana' }, headers))).toEqual(['s1/c1']);
    expect(customersIn(message({ customer: { id: 'c2' } }, headers))).toEqual(['s1/c1', 's1/c2']);
  });
});
