import { describe, expect, it } from 'vitest';
import { project } from './project.ts';

const WHOLE = {
  name: 'Pizzas',
  description: 'Todas',
  position: 2,
  active: true,
  image_url: 'https://x/y',
  created_at: '2026-01-01T15:00:00.000Z',
};

describe('the projection of a category', () => {
  it('shows everything that an event says', () => {
    expect(project('category', WHOLE)).toEqual({
      _id: 's1/x1',
      store_id: 's1',
      sequence: 3,
      offset: '-03:00',
      name: 'Pizzas',
      position: 2,
      active: true,
      updated_at: new Date('2026-02-02T12:00:00.000Z'),
      summary: {
        id: 'x1',
        name: 'Pizzas',
        description: 'Todas',
        position: 2,
        active: true,
        image_url: 'https://x/y',
      },
      dates: {
        created_at: '2026-01-01T12:00:00',
        updated_at: '2026-02-02T09:00:00',
      },
    });
  });

  it('has null, an empty list or a default for everything that an event leaves out', () => {
    expect(
      project('category', {
        name: 'Pizzas',
        position: 0,
        active: false,
      }),
    ).toEqual({
      _id: 's1/x1',
      store_id: 's1',
      sequence: 3,
      offset: '-03:00',
      name: 'Pizzas',
      position: 0,
      active: false,
      updated_at: new Date('2026-02-02T12:00:00.000Z'),
      summary: {
        id: 'x1',
        name: 'Pizzas',
        description: null,
        position: 0,
        active: false,
        image_url: null,
      },
      dates: {
        created_at: null,
        updated_at: '2026-02-02T09:00:00',
      },
    });
  });
});
