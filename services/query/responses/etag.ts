/**
 * Weak entity tags, made from the request and from the stamp of the records behind the answer,
 * never from the body.
 */
import { hash } from 'node:crypto';
import type { EntityName } from '#shared/events/entities.ts';
import type { Stamp } from '#shared/read-models/collections.ts';
import { namesCustomers } from '#shared/read-models/erasures.ts';
import { epochOf } from '#shared/read-models/feed-epochs.ts';
import type { GenerationMarker } from '#shared/read-models/generation.ts';
import { DEFAULT_OFFSET } from '#shared/read-models/local-time.ts';

export interface EtagSource {
  path: string;
  /** Parsed: two spellings of the same request have the same tag. */
  parameters: Record<string, unknown>;
  storeId: string;
  marker: GenerationMarker;
  /** The kinds of records that the answer depends on. */
  dependsOn: readonly EntityName[];
}

/**
 * The tag of an answer, such as `W/"k3…"`. It changes with every event of a kind that the answer
 * depends on, and with the store's offset, which shifts every date-time.
 */
export function etagOf(
  { path, parameters, storeId, marker, dependsOn }: EtagSource,
  stamp: Stamp | null,
): string {
  const counters = dependsOn.map((entity) => stamp?.[entity] ?? 0);
  // After a restored backup the same counters come again, for other events.
  const epochs = dependsOn.map((entity) => epochOf(stamp?.epochs, lastPosition(stamp, entity)));
  const offset = stamp?.timezone_offset ?? DEFAULT_OFFSET;
  const source = [
    path,
    Object.entries(parameters),
    storeId,
    marker.id,
    marker.projection_version,
    offset,
    counters,
    epochs,
    // The counters of an erased store begin at 0 again.
    ...(stamp?.erased_at === undefined ? [] : [stamp.erased_at]),
  ];
  return `W/"${hash('sha256', JSON.stringify(source), 'base64url').slice(0, 27)}"`;
}

/**
 * Deleting a customer changes orders and reviews, but at first only the position of customers
 * moves.
 */
function lastPosition(stamp: Stamp | null, entity: EntityName): number {
  const { positions } = stamp ?? {};
  const own = positions?.[entity] ?? 0;
  return namesCustomers(entity) ? Math.max(own, positions?.customer ?? 0) : own;
}

/** `If-None-Match`: absent, `*`, or tags. */
export type Condition = null | '*' | readonly string[];

/** Parses `If-None-Match`. What is not an entity tag matches nothing. */
export function conditionOf(header: string | undefined): Condition {
  if (header === undefined) return null;
  if (header.trim() === '*') return '*';
  return header.match(/"[^"]*"/g) ?? [];
}

/** Whether a condition names a tag; the comparison is weak (RFC 9110 section 13.1.2). */
export function names(condition: Condition, etag: string): boolean {
  return Array.isArray(condition) && condition.includes(etag.slice('W/'.length));
}
