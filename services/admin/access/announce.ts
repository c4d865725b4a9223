/**
 * Announcements: what operators' commands have published of a key or a store and the projector may not have
 * applied yet. Each change is composed from the one announced before it and takes the sequence after it by
 * compare-and-set, so that of two operators at once neither undoes what the other did nor takes its sequence,
 * also while no projector runs.
 */
import type { Collection, Db } from 'mongodb';
import type { KeyStatus, Scope } from '#shared/events/access-event.ts';
import { LAST_SEQUENCE } from '#shared/events/cloud-event.ts';

/** A key as an event describes it, and to whom it belongs. */
export interface AccessKeyData {
  environment: string;
  store_id: string;
  /** Those that came last first. */
  secret_sha256: string[];
  scopes: Scope[];
  status: KeyStatus;
  /** When secrets end, by hash, in ISO 8601. */
  secret_expires_at?: Record<string, string>;
}

/** What `store_access` says of a store. */
export interface StoreAccessData {
  status: 'active' | 'blocked';
}

export interface Announcement {
  /** `access_key/<client_id>` or `store_access/<environment>/<store id>` */
  _id: string;
  sequence: number;
  /** `null` where the first announcement of all was not published. */
  state: AccessKeyData | StoreAccessData | null;
  announced_at: Date;
}

/** What is stored: the truth as far as it is applied. */
export interface Applied<S> {
  sequence: number;
  state: S;
  /** Nothing that was announced can change it any more. */
  final: boolean;
}

export interface Announced<S> {
  id: string;
  sequence: number;
  /** What was true or announced before; `null` where there was nothing. */
  before: S | null;
  after: S;
  /** What is stored. */
  applied: S | null;
  /** Whether `after` differs from `before`. */
  changed: boolean;
  /** Whether `before` is applied, and not only announced. */
  beforeIsApplied: boolean;
}

/** The announcements, in the control database. */
export function announcementsIn(control: Db): Collection<Announcement> {
  return control.collection('access_announcements');
}

/**
 * Composes the next state and claims its sequence.
 * @param id of the key's or the store's announcement, whose state then is an `S`.
 * @param readApplied reads what is stored.
 * @param compose makes the next state from the one before; throws where that is not possible.
 * @param atTheLast is asked where no sequence is left above the last one; throws where the next state is one that the
 *   last sequence cannot bring any more.
 */
export async function announce<S extends AccessKeyData | StoreAccessData>(
  announcements: Collection<Announcement>,
  id: string,
  readApplied: () => Promise<Applied<S> | null>,
  compose: (before: S | null) => S,
  atTheLast: (before: S | null, after: S) => void,
): Promise<Announced<S>> {
  for (;;) {
    // In this order: an announcement is removed only after it was applied.
    const announced = await announcements.findOne({ _id: id });
    const applied = await readApplied();
    const beforeIsApplied = announced === null || isOvertaken(announced, applied);
    const before = beforeIsApplied ? (applied?.state ?? null) : (announced.state as S | null);
    const known = Math.max(announced?.sequence ?? 0, applied?.sequence ?? 0);
    const after = compose(before);
    const announcement = { id, before, after, applied: applied?.state ?? null, beforeIsApplied };
    if (before !== null && isEqual(before, after)) {
      const sequence = (beforeIsApplied ? applied?.sequence : announced.sequence) ?? known;
      return { ...announcement, sequence, changed: false };
    }
    if (known === LAST_SEQUENCE) atTheLast(before, after);
    const sequence = Math.min(known + 1, LAST_SEQUENCE);
    const next = { _id: id, sequence, state: after, announced_at: new Date() };
    if (await replaceAnnouncement(announcements, announced, next)) {
      return { ...announcement, sequence, changed: true };
    }
  }
}

/** Takes an announcement back that could not be published; its sequence stays used, since nobody knows for sure. */
export async function withdraw(
  announcements: Collection<Announcement>,
  { id, sequence, before, changed }: Announced<AccessKeyData | StoreAccessData>,
): Promise<void> {
  if (changed) await announcements.updateOne({ _id: id, sequence }, { $set: { state: before } });
}

/** Forgets an announcement that is applied. */
export async function forget(
  announcements: Collection<Announcement>,
  { id, sequence }: Pick<Announced<unknown>, 'id' | 'sequence'>,
): Promise<void> {
  await announcements.deleteOne({ _id: id, sequence: { $lte: sequence } });
}

function isOvertaken(announced: Announcement, applied: Applied<unknown> | null): boolean {
  return applied !== null && (applied.final || applied.sequence >= announced.sequence);
}

/** @returns whether nobody else came between. */
async function replaceAnnouncement(
  announcements: Collection<Announcement>,
  old: Announcement | null,
  next: Announcement,
): Promise<boolean> {
  if (old === null) {
    try {
      await announcements.insertOne(next);
      return true;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 11_000) return false;
      throw error;
    }
  }
  const { _id, ...replacement } = next;
  const written = await announcements.replaceOne({ _id, sequence: old.sequence }, replacement);
  return written.matchedCount === 1;
}

/** States are flat, and always made with their fields in the same order. */
function isEqual(a: object, b: object): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
