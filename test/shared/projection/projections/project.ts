/** Projects one event, and parses its bodies. */
import { readChange } from '#shared/events/change.ts';
import type { EntityName } from '#shared/events/entities.ts';
import { documentOf } from '#shared/projection/projections/projections.ts';
import { jsonOf } from '#shared/records/stored-json.ts';
import { received } from '#test/events.ts';

/**
 * The document of an entity `x1` of the store `s1`, version 3, whose event happened at noon of
 * 2026-02-02, UTC.
 */
export function project(
  entity: EntityName,
  data: object,
  customerErased = false,
): Record<string, unknown> {
  const subject = entity === 'store' ? 's1' : 'x1';
  const time = new Date('2026-02-02T12:00:00Z');
  const change = readChange(received({ entity, storeId: 's1', subject, sequence: 3, time, data }));
  const document = documentOf(change, { offset: '-03:00', customerErased });
  return Object.fromEntries(
    Object.entries(document).map(([name, field]) => {
      const json = typeof field === 'string' ? jsonOf(name, field) : null;
      return [name, json === null ? field : JSON.parse(json)];
    }),
  );
}
