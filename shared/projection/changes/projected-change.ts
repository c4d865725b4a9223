/**
 * What is kept of a change from its reading until its slice is planned. Its document is made at once, for the context that is
 * expected: the state that it is made of is a hundred objects, which would outlive several collections of garbage
 * while MongoDB is asked (decision 0036).
 */
import { LRUCache } from 'lru-cache';
import { type Change, readChange } from '../../events/change.ts';
import type { EventMessage } from '../../events/cloud-event.ts';
import type { ReadModelDocument, Unplaced } from '../../read-models/collections.ts';
import { DEFAULT_OFFSET } from '../../read-models/local-time.ts';
import { customerNamedBy, projectDocument } from '../projections/index.ts';
import type { ProjectionContext } from '../projections/projection.ts';

export interface ProjectedChange extends Pick<
  Change,
  'entity' | 'storeId' | 'id' | 'sequence' | 'time' | 'newerVersion'
> {
  deletes: boolean;
  /** The customer whom its state names. */
  customerId: string | null;
  /** The category that a product's state names. */
  categoryId: string | null;
  /** The offset that a store's state names. */
  timezoneOffset: string | null;
  /** The document that shows its state. @throws what the projection throws. */
  documentIn: (context: ProjectionContext) => Unplaced<ReadModelDocument>;
}

/** Stores whose last offset is cached: documents are made for it before the stamp is read. */
const CACHED_OFFSETS = 10_000;
const offsetCache = new LRUCache<string, string>({ max: CACHED_OFFSETS });

/** Reads a message, and makes its document. @throws {EventRejected} when it is poison. */
export function projectChange(message: EventMessage): ProjectedChange {
  const change = readChange(message);
  const { entity, storeId, id, sequence, time, newerVersion } = change;
  const expected = { offset: offsetCache.get(storeId) ?? DEFAULT_OFFSET, customerErased: false };
  const document = change.state === null ? null : draft(change, expected);
  return {
    entity,
    storeId,
    id,
    sequence,
    time,
    ...(newerVersion === undefined ? {} : { newerVersion }),
    deletes: change.state === null,
    customerId: customerNamedBy(change),
    categoryId: entity === 'product' ? (change.state?.category_id ?? null) : null,
    timezoneOffset: entity === 'store' ? (change.state?.timezone_offset ?? null) : null,
    documentIn: (context) => {
      const isExpected =
        context.offset === expected.offset && context.customerErased === expected.customerErased;
      if (isExpected && document !== null) return document;
      offsetCache.set(storeId, context.offset);
      return projectDocument(readChange(message), context);
    },
  };
}

/** `null` where none can be made: it is tried again when it is needed, and fails there. */
function draft(change: Change, context: ProjectionContext): Unplaced<ReadModelDocument> | null {
  try {
    return projectDocument(change, context);
  } catch {
    return null;
  }
}
