import { describe, expect, it } from 'vitest';
import { customersIn } from '#shared/projection/dead-letters/letter.ts';

const message = (value: unknown, headers = {}, key: string | null = 's1') => ({
  key: key === null ? null : Buffer.from(key),
  value: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
  headers,
});

describe('customersIn', () => {
  it('finds the customer of a customer event', () => {
    const event = { type: 'store-data.customer.changed', subject: 'c1', storeid: 's1', data: {} };
    expect(customersIn(message(event))).toEqual(['s1/c1']);
    expect(customersIn(message({ ...event, type: 'store-data.order.changed' }))).toEqual([]);
  });

  it('finds the customer in an order or a review, whatever else is wrong', () => {
    expect(customersIn(message({ data: { total: 7, customer: { id: 'c2', name: 'x' } } }))).toEqual(['s1/c2']);
    expect(customersIn(message({ type: 5, data: { customer_id: 'c3' } }))).toEqual(['s1/c3']);
  });

  it('returns every possible store', () => {
    const event = { storeid: 's2', data: { customer_id: 'c3' } };
    expect(customersIn(message(event))).toEqual(['s2/c3', 's1/c3']);
    expect(customersIn(message(event, {}, null))).toEqual(['s2/c3']);
  });

  it('reads binary mode', () => {
    const headers = {
      ce_type: Buffer.from('store-data.customer.changed'),
      ce_subject: 'c1',
      CE_storeid: [Buffer.from('s1')],
    };
    expect(customersIn(message({ customer_id: 'c9' }, headers))).toEqual(['s1/c9', 's1/c1']);
    expect(customersIn(message('no JSON', headers))).toEqual(['s1/c1']);
  });

  it('reads structured mode with headers of binary mode, if the content type says so', () => {
    const event = { storeid: 's2', data: { customer: { id: 'c2' } } };
    const headers = { ce_x: 'stray', 'Content-Type': Buffer.from('application/cloudevents+json; charset=utf-8') };
    expect(customersIn(message(event, headers))).toEqual(['s2/c2', 's1/c2']);
    expect(customersIn(message(event, { 'content-type': 'text/plain' }))).toEqual(['s2/c2', 's1/c2']);
  });

  it('reads binary mode too where the content type is wrong', () => {
    const headers = {
      ce_type: 'store-data.customer.changed',
      ce_subject: 'c1',
      'content-type': 'application/cloudevents+json',
    };
    expect(customersIn(message({ name: 'Ana' }, headers))).toEqual(['s1/c1']);
    expect(customersIn(message({ customer: { id: 'c2' } }, headers))).toEqual(['s1/c2', 's1/c1']);
  });

  it('finds no customer in unreadable messages', () => {
    for (const value of ['', '[]', 'null', '{', '{"data":[]}', '{"data":{"customer":{"id":"a/b"}}}']) {
      expect(customersIn(message(value))).toEqual([]);
    }
    expect(customersIn({ key: null, value: null })).toEqual([]);
  });
});
