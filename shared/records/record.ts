/** A kind of record: what events carry of it, and what answers show. */
import { Type, type TSchema } from 'typebox';
import { eventProperties, type EventProperties, type Fields, shower, type Told } from './field.ts';

export interface RecordDescription {
  fields: Fields;
  more: Fields;
  /** As lists show it. */
  summary: (told: Told) => Record<string, unknown>;
  /** What only the whole record has. */
  rest: (told: Told) => Record<string, unknown>;
  /** All that lists show, and what only the whole record has. */
  all: (told: Told) => Record<string, unknown>;
  /** What is stored by itself, so that lists are filtered by it. */
  filters: (told: Told) => Record<string, unknown>;
}

/** Events carry these last. */
const DATES = new Set(['created_at', 'updated_at']);

/** @param fields that lists show, behind the id. @param more what only the whole record has. */
export function describeRecord<F extends Fields, M extends Fields>(fields: F, more: M) {
  const carried: [string, TSchema][] = Object.entries(eventProperties({ ...fields, ...more }));
  const isDate = ([field]: [string, unknown]) => DATES.has(field);
  const properties = Object.fromEntries([
    ...carried.filter((one) => !isDate(one)),
    ...carried.filter(isDate),
  ]);
  const [showFields, showShort, showRest] = [shower(fields), shower(fields, true), shower(more)];
  const all = Object.entries<Fields[string]>({ ...fields, ...more });
  const showFilters = shower(Object.fromEntries(all.filter(([, { isFilter }]) => isFilter)));
  return {
    fields,
    more,
    event: Type.Object(properties) as unknown as Type.TObject<EventProperties<F & M>>,
    summary: (told: Told): Record<string, unknown> => ({ id: told.id, ...showShort(told) }),
    all: (told: Told): Record<string, unknown> => ({
      id: told.id,
      ...showFields(told),
      ...showRest(told),
    }),
    rest: showRest,
    filters: showFilters,
  };
}
