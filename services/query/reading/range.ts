/** Filters by date-time: bounds are whole seconds of local time, both inclusive. */
import type { Document } from 'mongodb';
import { optional } from '../parameters/parameter.ts';
import { localDateTime } from '../parameters/kinds.ts';
import type { ToInstant } from './list.ts';

/** The parameters that bound when a record was created. */
export const createdRange = { created_from: optional(localDateTime), created_to: optional(localDateTime) };
/** The parameters that bound when a record was updated. */
export const updatedRange = { updated_from: optional(localDateTime), updated_to: optional(localDateTime) };

const SECOND = 1_000;

/** The filter of one field between two bounds, either of which may be open. */
export function between(
  field: 'created_at' | 'updated_at',
  from: number | null,
  to: number | null,
  toInstant: ToInstant,
): Document {
  if (from === null && to === null) return {};
  return {
    [field]: {
      ...(from === null ? {} : { $gte: toInstant(from) }),
      // What happened within the last second, at .999 too, belongs to it.
      ...(to === null ? {} : { $lt: toInstant(to + SECOND) }),
    },
  };
}
