import { describe, expect, it } from 'vitest';
import { Type } from 'typebox';
import { carriedAs, filtered, instant, personal, text, updatedAt } from '#shared/records/field.ts';
import { describeRecord } from '#shared/records/record.ts';

const voucher = describeRecord(
  {
    code: filtered(text.required('What is entered.')),
    owner: personal(text.optional()),
    created_at: instant.required(),
    updated_at: updatedAt(),
  },
  { valid_until: instant.optional(), audience: carriedAs('target_group', text.optional()) },
);

const told = (state: object) => ({
  id: 'v1',
  state,
  time: Date.parse('2026-11-20T12:00:00Z'),
  offset: '-03:00',
  customerErased: false,
});

describe('the description of a record', () => {
  it('makes the schema of the event, dates last, with the names that events carry', () => {
    expect(Object.keys(voucher.event.properties)).toEqual([
      'code',
      'owner',
      'valid_until',
      'target_group',
      'created_at',
      'updated_at',
    ]);
    expect(
      Object.entries(voucher.event.properties).flatMap(([field, one]) =>
        Type.IsOptional(one) ? [] : [field],
      ),
    ).toEqual(['code', 'created_at']);
  });

  it('shows what events carry in local store time, and null where a field is absent', () => {
    const state = {
      code: 'A',
      target_group: 'all',
      created_at: '2026-11-20T10:00:00Z',
      valid_until: '2026-12-01T02:59:59.9Z',
    };
    expect(voucher.all(told(state))).toEqual({
      id: 'v1',
      code: 'A',
      owner: null,
      created_at: '2026-11-20T07:00:00',
      updated_at: '2026-11-20T09:00:00',
      valid_until: '2026-11-30T23:59:59',
      audience: 'all',
    });
  });

  it('stores by itself what lists are filtered by', () => {
    expect(voucher.filters(told({ code: 'A', owner: 'Ana' }))).toEqual({ code: 'A' });
  });
});
