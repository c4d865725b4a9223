import { describe, expect, it } from 'vitest';
import { project } from './project.ts';

const WHOLE = {
  name: 'Bordas',
  min: 0,
  max: 1,
  price_method: 'max',
  position: 3,
  external_code: 'E2',
  options: [
    {
      id: 'b',
      name: 'Cheddar',
      price: '5.00',
      position: 1,
      active: false,
    },
    {
      id: 'a',
      name: 'Catupiry',
      price: '6.00',
      position: 0,
      max_quantity: 2,
      external_code: 'E3',
      description: 'x',
    },
  ],
};

describe('the projection of an option group', () => {
  it('shows everything that an event says', () => {
    expect(project('option_group', WHOLE)).toEqual({
      _id: 's1/x1',
      store_id: 's1',
      sequence: 3,
      offset: '-03:00',
      name_key: 'bordas',
      summary: {
        id: 'x1',
        name: 'Bordas',
        min: 0,
        max: 1,
        price_method: 'max',
        position: 3,
        external_code: 'E2',
        options: [
          {
            id: 'a',
            name: 'Catupiry',
            description: 'x',
            price: '6.00',
            max_quantity: 2,
            active: true,
            position: 0,
            external_code: 'E3',
          },
          {
            id: 'b',
            name: 'Cheddar',
            description: null,
            price: '5.00',
            max_quantity: null,
            active: false,
            position: 1,
            external_code: null,
          },
        ],
      },
      active_summary: {
        id: 'x1',
        name: 'Bordas',
        min: 0,
        max: 1,
        price_method: 'max',
        position: 3,
        external_code: 'E2',
        options: [
          {
            id: 'a',
            name: 'Catupiry',
            description: 'x',
            price: '6.00',
            max_quantity: 2,
            active: true,
            position: 0,
            external_code: 'E3',
          },
        ],
      },
    });
  });

  it('has null, an empty list or a default for everything that an event leaves out', () => {
    expect(
      project('option_group', {
        name: 'Vazio',
        min: 0,
        max: 0,
        options: [],
      }),
    ).toEqual({
      _id: 's1/x1',
      store_id: 's1',
      sequence: 3,
      offset: '-03:00',
      name_key: 'vazio',
      summary: {
        id: 'x1',
        name: 'Vazio',
        min: 0,
        max: 0,
        price_method: null,
        position: 0,
        external_code: null,
        options: [],
      },
      active_summary: {
        id: 'x1',
        name: 'Vazio',
        min: 0,
        max: 0,
        price_method: null,
        position: 0,
        external_code: null,
        options: [],
      },
    });
  });
});
