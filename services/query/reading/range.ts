/** Filters by date-time: bounds are whole seconds of local time, both inclusive. */
import type { Document } from 'mongodb';
import { optional, type Values } from '../parameters/parameter.ts';
import { localDateTime } from '../parameters/kinds.ts';
import { type KeyRange, timeRange } from '#shared/read-models/rank-tree/keys.ts';

/** The instant, in milliseconds since 1970, of a local date-time that was read as if it were UTC. */
export type ToInstant = (local: number) => number;

const INCLUSIVE = 'Inclusive, in local store time, without a zone.';

/** The parameters that bound when a record was created. */
export const createdRange = {
  created_from: optional(localDateTime, {
    description: `Only records created at this second or later. ${INCLUSIVE}`,
    example: '2026-11-01T00:00:00',
  }),
  created_to: optional(localDateTime, {
    description: `Only records created at this second or earlier; not before \`created_from\`. ${INCLUSIVE}`,
    example: '2026-11-30T23:59:59',
  }),
};
/** What these windows are not for: a late event may carry any `updated_at`. */
const WINDOW =
  'A window of the publisher’s time (“what did they change yesterday”); to follow changes, ask `/api/<kind>/changes`.';

/** The parameters that bound when a record was updated. */
export const updatedRange = {
  updated_from: optional(localDateTime, {
    description: `Only records whose \`updated_at\` is this second or later. ${INCLUSIVE} ${WINDOW}`,
    example: '2026-11-20T18:00:00',
  }),
  updated_to: optional(localDateTime, {
    description: `Only records whose \`updated_at\` is this second or earlier; not before \`updated_from\`. ${INCLUSIVE} ${WINDOW}`,
    example: '2026-11-20T18:59:59',
  }),
};

const SECOND = 1_000;

/** The filter of `updated_at` between two bounds, either of which may be open. */
export function updatedBetween({ updated_from: from, updated_to: to }: Values<typeof updatedRange>) {
  return (toInstant: ToInstant): Document => {
    if (from === null && to === null) return {};
    return {
      updated_at: {
        ...(from === null ? {} : { $gte: new Date(toInstant(from)) }),
        // What happened within the last second, at .999 too, belongs to it.
        ...(to === null ? {} : { $lt: new Date(toInstant(to + SECOND)) }),
      },
    };
  };
}

/** The sort keys of what was created between two bounds, in a list of the newest first. */
export function createdBetween({ created_from: from, created_to: to }: Values<typeof createdRange>) {
  return (toInstant: ToInstant): KeyRange =>
    timeRange(from === null ? null : toInstant(from), to === null ? null : toInstant(to + SECOND));
}

/** The filter of a sort key in a range. */
export function keyWithin(field: string, { from, to }: KeyRange): Document {
  if (from === '' && to === null) return {};
  return { [field]: { ...(from === '' ? {} : { $gte: from }), ...(to === null ? {} : { $lt: to }) } };
}
