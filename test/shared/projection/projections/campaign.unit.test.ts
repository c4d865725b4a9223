import { describe, expect, it } from 'vitest';
import { project } from './project.ts';

const WHOLE = {
  name: 'Natal',
  channel: 'email',
  status: 'running',
  starts_at: '2026-01-01T15:00:00.000Z',
  ends_at: '2026-01-01T15:00:00.000Z',
  message: 'Oi',
  audience: 'todos',
  coupon_id: 'k1',
  sent_count: 3,
  delivered_count: 2,
  converted_count: 1,
  created_at: '2026-01-01T15:00:00.000Z',
};

describe('the projection of a campaign', () => {
  it('shows everything that an event says', () => {
    expect(project('campaign', WHOLE)).toEqual({
      _id: 's1/x1',
      store_id: 's1',
      sequence: 3,
      offset: '-03:00',
      status: 'running',
      created_at: new Date('2026-01-01T15:00:00.000Z'),
      summary: {
        id: 'x1',
        name: 'Natal',
        channel: 'email',
        status: 'running',
        starts_at: '2026-01-01T12:00:00',
        ends_at: '2026-01-01T12:00:00',
        created_at: '2026-01-01T12:00:00',
        updated_at: '2026-02-02T09:00:00',
      },
      whole: {
        id: 'x1',
        name: 'Natal',
        channel: 'email',
        status: 'running',
        starts_at: '2026-01-01T12:00:00',
        ends_at: '2026-01-01T12:00:00',
        created_at: '2026-01-01T12:00:00',
        updated_at: '2026-02-02T09:00:00',
        message: 'Oi',
        audience: 'todos',
        coupon_id: 'k1',
        sent_count: 3,
        delivered_count: 2,
        converted_count: 1,
      },
    });
  });

  it('has null, an empty list or a default for everything that an event leaves out', () => {
    expect(
      project('campaign', {
        name: 'Natal',
        channel: 'sms',
        status: 'draft',
        created_at: '2026-01-01T15:00:00.000Z',
      }),
    ).toEqual({
      _id: 's1/x1',
      store_id: 's1',
      sequence: 3,
      offset: '-03:00',
      status: 'draft',
      created_at: new Date('2026-01-01T15:00:00.000Z'),
      summary: {
        id: 'x1',
        name: 'Natal',
        channel: 'sms',
        status: 'draft',
        starts_at: null,
        ends_at: null,
        created_at: '2026-01-01T12:00:00',
        updated_at: '2026-02-02T09:00:00',
      },
      whole: {
        id: 'x1',
        name: 'Natal',
        channel: 'sms',
        status: 'draft',
        starts_at: null,
        ends_at: null,
        created_at: '2026-01-01T12:00:00',
        updated_at: '2026-02-02T09:00:00',
        message: null,
        audience: null,
        coupon_id: null,
        sent_count: null,
        delivered_count: null,
        converted_count: null,
      },
    });
  });
});
