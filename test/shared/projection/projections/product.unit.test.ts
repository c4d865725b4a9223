import { describe, expect, it } from 'vitest';
import { project } from './project.ts';

const WHOLE = {
  category_id: 'k1',
  name: 'Calabresa',
  description: 'Boa',
  price: '39.90',
  promotional_price: '29.90',
  active: true,
  position: 1,
  image_url: 'https://x/y',
  external_code: 'E1',
  ean: '789',
  serves: 2,
  option_group_ids: ['g2', 'g1'],
  created_at: '2026-01-01T15:00:00.000Z',
};

describe('the projection of a product', () => {
  it('shows everything that an event says', () => {
    expect(project('product', WHOLE)).toEqual({
      _id: 's1/x1',
      store_id: 's1',
      sequence: 3,
      offset: '-03:00',
      name: 'Calabresa',
      position: 1,
      active: true,
      category_id: 'k1',
      option_group_ids: ['g2', 'g1'],
      updated_at: new Date('2026-02-02T12:00:00.000Z'),
      summary: {
        id: 'x1',
        category_id: 'k1',
        name: 'Calabresa',
        description: 'Boa',
        price: '39.90',
        promotional_price: '29.90',
        active: true,
        position: 1,
        image_url: 'https://x/y',
        external_code: 'E1',
        updated_at: '2026-02-02T09:00:00',
      },
      before_groups: {
        ean: '789',
        serves: 2,
      },
      after_groups: {
        created_at: '2026-01-01T12:00:00',
      },
    });
  });

  it('has null, an empty list or a default for everything that an event leaves out', () => {
    expect(
      project('product', {
        name: 'Suco',
        price: '1.00',
        position: 0,
        active: true,
      }),
    ).toEqual({
      _id: 's1/x1',
      store_id: 's1',
      sequence: 3,
      offset: '-03:00',
      name: 'Suco',
      position: 0,
      active: true,
      category_id: '',
      option_group_ids: [],
      updated_at: new Date('2026-02-02T12:00:00.000Z'),
      summary: {
        id: 'x1',
        category_id: null,
        name: 'Suco',
        description: null,
        price: '1.00',
        promotional_price: null,
        active: true,
        position: 0,
        image_url: null,
        external_code: null,
        updated_at: '2026-02-02T09:00:00',
      },
      before_groups: {
        ean: null,
        serves: null,
      },
      after_groups: {
        created_at: null,
      },
    });
  });
});
