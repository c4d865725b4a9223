import { describe, expect, it } from 'vitest';
import { projections } from '#shared/projection/projections/index.ts';
import { readChange } from '#shared/events/change.ts';
import { encodeEvent } from '#shared/events/encode.ts';
import { ENTITY_NAMES, type EntityName } from '#shared/events/entities.ts';
import { recordsOf } from '../../../security/tenants.ts';

const TENANT = { name: 'A', storeId: 's1', environment: '', secret: 'Loja "A"', phone: '11' };

describe('a summary', () => {
  it.each(ENTITY_NAMES)(
    'of a %s begins with its id, from which change feeds take it',
    (entity: EntityName) => {
      const found = recordsOf(TENANT).find((record) => record.entity === entity);
      if (found?.data === undefined) throw new Error(`there is no ${entity}`);
      const { key, value, headers } = encodeEvent({
        source: '/test',
        entity,
        storeId: 's1',
        subject: found.id,
        sequence: 1,
        data: found.data,
      });
      const change = readChange({ key: Buffer.from(key), value: Buffer.from(value), headers });
      const project = projections[entity].project as (
        change: unknown,
        context: object,
      ) => { summary: string };
      const { summary } = project(change, { offset: '-03:00', customerErased: false });
      expect(summary.startsWith(`{"id":"${found.id}","`)).toBe(true);
    },
  );
});
