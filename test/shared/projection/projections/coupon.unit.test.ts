import { describe, expect, it } from 'vitest';
import { project } from './project.ts';

const WHOLE = {
  code: 'FRETE',
  description: 'Frete',
  discount_type: 'percentage',
  discount_value: '10.00',
  minimum_order_value: '30.00',
  active: true,
  starts_at: '2026-01-01T15:00:00.000Z',
  ends_at: '2026-03-01T03:00:00Z',
  maximum_discount: '5.00',
  usage_limit: 9,
  usage_count: 1,
  per_customer_limit: 1,
  order_types: ['takeout'],
  created_at: '2026-01-01T15:00:00.000Z',
};

describe('the projection of a coupon', () => {
  it('shows everything that an event says', () => {
    expect(project('coupon', WHOLE)).toEqual({
      _id: 's1/x1',
      store_id: 's1',
      sequence: 3,
      offset: '-03:00',
      active: true,
      created_at: new Date('2026-01-01T15:00:00.000Z'),
      summary: {
        id: 'x1',
        code: 'FRETE',
        description: 'Frete',
        discount_type: 'percentage',
        discount_value: '10.00',
        minimum_order_value: '30.00',
        active: true,
        starts_at: '2026-01-01T12:00:00',
        ends_at: '2026-03-01T00:00:00',
        created_at: '2026-01-01T12:00:00',
        updated_at: '2026-02-02T09:00:00',
      },
      whole: {
        id: 'x1',
        code: 'FRETE',
        description: 'Frete',
        discount_type: 'percentage',
        discount_value: '10.00',
        minimum_order_value: '30.00',
        active: true,
        starts_at: '2026-01-01T12:00:00',
        ends_at: '2026-03-01T00:00:00',
        created_at: '2026-01-01T12:00:00',
        updated_at: '2026-02-02T09:00:00',
        maximum_discount: '5.00',
        usage_limit: 9,
        usage_count: 1,
        per_customer_limit: 1,
        order_types: ['takeout'],
      },
    });
  });

  it('has null, an empty list or a default for everything that an event leaves out', () => {
    expect(
      project('coupon', {
        code: 'A',
        discount_type: 'fixed',
        discount_value: '1.00',
        active: false,
        created_at: '2026-01-01T15:00:00.000Z',
      }),
    ).toEqual({
      _id: 's1/x1',
      store_id: 's1',
      sequence: 3,
      offset: '-03:00',
      active: false,
      created_at: new Date('2026-01-01T15:00:00.000Z'),
      summary: {
        id: 'x1',
        code: 'A',
        description: null,
        discount_type: 'fixed',
        discount_value: '1.00',
        minimum_order_value: null,
        active: false,
        starts_at: null,
        ends_at: null,
        created_at: '2026-01-01T12:00:00',
        updated_at: '2026-02-02T09:00:00',
      },
      whole: {
        id: 'x1',
        code: 'A',
        description: null,
        discount_type: 'fixed',
        discount_value: '1.00',
        minimum_order_value: null,
        active: false,
        starts_at: null,
        ends_at: null,
        created_at: '2026-01-01T12:00:00',
        updated_at: '2026-02-02T09:00:00',
        maximum_discount: null,
        usage_limit: null,
        usage_count: null,
        per_customer_limit: null,
        order_types: [],
      },
    });
  });
});
