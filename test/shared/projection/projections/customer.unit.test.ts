import { describe, expect, it } from 'vitest';
import { project } from './project.ts';

const WHOLE = {
  name: 'Zoë Araújo',
  document: '123.456.789-00',
  phone: '(11) 98765-4321',
  email: 'z@b.c',
  birth_date: '1990-05-06',
  accepts_marketing: true,
  addresses: [
    {
      street: 'Rua Augusta',
      number: '100',
      city: 'São Paulo',
      state: 'SP',
      latitude: -23.5,
    },
  ],
  created_at: '2026-01-01T15:00:00.000Z',
};

describe('the projection of a customer', () => {
  it('shows everything that an event says', () => {
    expect(project('customer', WHOLE)).toEqual({
      _id: 's1/x1',
      store_id: 's1',
      sequence: 3,
      offset: '-03:00',
      rank_key: 'zoe araujo\x00x1',
      created_key: '2h73km1eo0x1',
      document_digits: '12345678900',
      document_key: '12345678900',
      phone_digits: '11987654321',
      updated_at: new Date('2026-02-02T12:00:00.000Z'),
      summary: {
        id: 'x1',
        name: 'Zoë Araújo',
        document: '123.456.789-00',
        phone: '(11) 98765-4321',
        email: 'z@b.c',
        birth_date: '1990-05-06',
        accepts_marketing: true,
        addresses: [
          {
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
        ],
        created_at: '2026-01-01T12:00:00',
        updated_at: '2026-02-02T09:00:00',
      },
    });
  });

  it('has null, an empty list or a default for everything that an event leaves out', () => {
    expect(
      project('customer', {
        name: 'Ana',
        created_at: '2026-01-01T15:00:00.000Z',
      }),
    ).toEqual({
      _id: 's1/x1',
      store_id: 's1',
      sequence: 3,
      offset: '-03:00',
      rank_key: 'ana\x00x1',
      created_key: '2h73km1eo0x1',
      document_digits: '',
      document_key: '',
      phone_digits: '',
      updated_at: new Date('2026-02-02T12:00:00.000Z'),
      summary: {
        id: 'x1',
        name: 'Ana',
        document: null,
        phone: null,
        email: null,
        birth_date: null,
        accepts_marketing: false,
        addresses: [],
        created_at: '2026-01-01T12:00:00',
        updated_at: '2026-02-02T09:00:00',
      },
    });
  });
});
