/** What the audit says of changes that arrive as events. */
import { ObjectId } from 'mongodb';
import { type AccessKey, type StoreAccess, validSecrets } from '../../access/access-keys.ts';
import type { AuditRecord } from '../../access/audit.ts';
import type { AccessKeyChange, StoreAccessChange } from '../../events/access-event.ts';

/** Whoever writes events can make them long. */
const LONGEST_TEXT = 200;

/** The record of a key's change; `key` is what came of it. */
export function keyRecord(change: AccessKeyChange, key: AccessKey): AuditRecord {
  const { status, scopes, sequence, environment, store_id } = key;
  return {
    ...recordOf(change),
    action: 'event.access_key',
    environment,
    store_id,
    client_id: key._id,
    details: { status, scopes, secrets: validSecrets(key).length, sequence, event_id: cut(change.eventId) },
  };
}

/** The record of a change of a store's blocking. */
export function storeRecord(change: StoreAccessChange, store: StoreAccess): AuditRecord {
  const { access_status: status, access_sequence: sequence, environment, store_id } = store;
  return {
    ...recordOf(change),
    action: 'event.store_access',
    environment,
    store_id,
    details: { status, sequence, event_id: cut(change.eventId) },
  };
}

function recordOf({ source }: { source: string }): Pick<AuditRecord, '_id' | 'at' | 'actor' | 'phase'> {
  return { _id: new ObjectId(), at: new Date(), actor: cut(source), phase: 'applied' };
}

function cut(text: string): string {
  return text.length <= LONGEST_TEXT ? text : `${text.slice(0, LONGEST_TEXT - 1)}…`;
}
