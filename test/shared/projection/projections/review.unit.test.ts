import { describe, expect, it } from 'vitest';
import { project } from './project.ts';

const WHOLE = {
  order_id: 'o1',
  customer_id: 'c1',
  customer_name: 'Zoë',
  rating: 4,
  comment: 'Boa',
  reply: 'Obrigado',
  replied_at: '2026-01-03T15:00:00Z',
  created_at: '2026-01-01T15:00:00.000Z',
};

describe('the projection of a review', () => {
  it('shows everything that an event says', () => {
    expect(project('review', WHOLE)).toEqual({
      _id: 's1/x1',
      store_id: 's1',
      sequence: 3,
      offset: '-03:00',
      rank_key: '2h73km1eo0x1',
      facet: 'r4',
      customer_id: 'c1',
      summary: {
        id: 'x1',
        order_id: 'o1',
        customer_id: 'c1',
        customer_name: 'Zoë',
        rating: 4,
        comment: 'Boa',
        created_at: '2026-01-01T12:00:00',
      },
      whole: {
        id: 'x1',
        order_id: 'o1',
        customer_id: 'c1',
        customer_name: 'Zoë',
        rating: 4,
        comment: 'Boa',
        created_at: '2026-01-01T12:00:00',
        reply: 'Obrigado',
        replied_at: '2026-01-03T12:00:00',
      },
    });
  });

  it('has null, an empty list or a default for everything that an event leaves out', () => {
    expect(
      project('review', {
        rating: 1,
        created_at: '2026-01-01T15:00:00.000Z',
      }),
    ).toEqual({
      _id: 's1/x1',
      store_id: 's1',
      sequence: 3,
      offset: '-03:00',
      rank_key: '2h73km1eo0x1',
      facet: 'r1',
      customer_id: null,
      summary: {
        id: 'x1',
        order_id: null,
        customer_id: null,
        customer_name: null,
        rating: 1,
        comment: null,
        created_at: '2026-01-01T12:00:00',
      },
      whole: {
        id: 'x1',
        order_id: null,
        customer_id: null,
        customer_name: null,
        rating: 1,
        comment: null,
        created_at: '2026-01-01T12:00:00',
        reply: null,
        replied_at: null,
      },
    });
  });

  it('leaves out what it says of a customer who is deleted, but the id', () => {
    const { customer_id, ...document } = project('review', WHOLE, { customerErased: true });
    expect(customer_id).toBe('c1');
    expect(JSON.stringify(document)).not.toContain('Zoë');
    expect(document['whole']).toMatchObject({ customer_id: 'c1', customer_name: null });
  });
});
