import { describe, expect, it } from 'vitest';
import { project } from './project.ts';

const WHOLE = {
  name: 'Pizzaria',
  legal_name: 'Pizzaria Ltda',
  document: '12.345.678/0001-90',
  phone: '11 9',
  email: 'a@b.c',
  timezone_offset: '-04:00',
  order_types: ['delivery'],
  minimum_order_value: '20.00',
  address: {
    street: 'Rua Augusta',
    number: '100',
    city: 'São Paulo',
    state: 'SP',
    latitude: -23.5,
  },
  opening_hours: [
    {
      weekday: 'monday',
      opens: '18:00',
      closes: '23:00',
    },
  ],
  created_at: '2026-01-01T15:00:00.000Z',
  updated_at: '2026-01-02T15:00:00Z',
};

describe('the projection of a store', () => {
  it('shows everything that an event says', () => {
    expect(project('store', WHOLE)).toEqual({
      _id: 's1/s1',
      store_id: 's1',
      sequence: 3,
      offset: '-03:00',
      status: 'active',
      created_at: new Date('2026-01-01T15:00:00.000Z'),
      updated_at: new Date('2026-01-02T15:00:00.000Z'),
      summary: {
        id: 's1',
        name: 'Pizzaria',
        legal_name: 'Pizzaria Ltda',
        document: '12.345.678/0001-90',
        phone: '11 9',
        email: 'a@b.c',
        status: 'active',
        timezone_offset: '-04:00',
        currency: 'BRL',
        order_types: ['delivery'],
        minimum_order_value: '20.00',
        address: {
          street: 'Rua Augusta',
          number: '100',
          complement: null,
          district: null,
          city: 'São Paulo',
          state: 'SP',
          postal_code: null,
          reference: null,
          latitude: -23.5,
          longitude: null,
        },
        opening_hours: [
          {
            weekday: 'monday',
            opens: '18:00',
            closes: '23:00',
          },
        ],
        created_at: '2026-01-01T12:00:00',
        updated_at: '2026-01-02T12:00:00',
      },
    });
  });

  it('has null, an empty list or a default for everything that an event leaves out', () => {
    expect(
      project('store', {
        name: 'Loja',
        timezone_offset: '-03:00',
        created_at: '2026-01-01T15:00:00.000Z',
      }),
    ).toEqual({
      _id: 's1/s1',
      store_id: 's1',
      sequence: 3,
      offset: '-03:00',
      status: 'active',
      created_at: new Date('2026-01-01T15:00:00.000Z'),
      updated_at: new Date('2026-02-02T12:00:00.000Z'),
      summary: {
        id: 's1',
        name: 'Loja',
        legal_name: null,
        document: null,
        phone: null,
        email: null,
        status: 'active',
        timezone_offset: '-03:00',
        currency: 'BRL',
        order_types: [],
        minimum_order_value: null,
        address: null,
        opening_hours: [],
        created_at: '2026-01-01T12:00:00',
        updated_at: '2026-02-02T09:00:00',
      },
    });
  });
});
