/**
 * The audit: who changed access, and when. Records are only inserted, so a user with the right to
 * insert cannot change them.
 */
import type { ClientSession, Collection, Db, ObjectId } from 'mongodb';

export const AUDIT_ACTIONS = [
  'keys.create',
  'keys.scopes',
  'keys.activate',
  'keys.deactivate',
  'keys.revoke',
  'keys.rotate-secret',
  'keys.retire-secret',
  'stores.block',
  'stores.unblock',
  'stores.erase',
  'sessions.revoke',
  'quota.set',
  'quota.reset',
  'signing-keys.rotate',
  'signing-keys.retire',
  'dead-letters.skip',
  'access.republish',
  'access.replay',
  'event.access_key',
  'event.store_access',
  'event.store_quota',
  'event.store_erasure',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export interface AuditSubject {
  environment?: string;
  store_id?: string;
  client_id?: string;
  session_id?: string;
  kid?: string;
}

/** What was requested, or its result: scopes, a status, a sequence, a reason. */
export type AuditDetails = Record<string, string | number | boolean | null | readonly string[]>;

export interface AuditRecord extends AuditSubject {
  _id: ObjectId;
  at: Date;
  /** An operator, or the source of an event. */
  actor: string;
  action: AuditAction;
  /**
   * A command writes `begun` before it changes anything, then `done` or `failed`; an event
   * `applied`, in its transaction.
   */
  phase: 'begun' | 'done' | 'failed' | 'applied';
  /** Of `done` and `failed`: the record with which it began. */
  began?: ObjectId;
  details: AuditDetails;
}

export function auditIn(control: Db): Collection<AuditRecord> {
  return control.collection('audit', {
    readPreference: 'primary',
    readConcern: { level: 'majority' },
    writeConcern: { w: 'majority' },
  });
}

/** Creates the audit's indexes. Safe to call from several processes at once. */
export async function createAuditIndexes(control: Db): Promise<void> {
  await auditIn(control).createIndexes([
    { name: 'by_time', key: { at: -1 } },
    { name: 'by_store', key: { store_id: 1, at: -1 } },
    { name: 'by_client', key: { client_id: 1, at: -1 } },
    {
      name: 'by_beginning',
      key: { began: 1 },
      partialFilterExpression: { began: { $exists: true } },
    },
  ]);
}

export async function writeAudit(
  control: Db,
  session: ClientSession,
  records: readonly AuditRecord[],
): Promise<void> {
  if (records.length > 0)
    await control.collection<AuditRecord>('audit').insertMany([...records], { session });
}
