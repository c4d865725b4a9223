/** Changes the access of a key or a store, and has it in the audit. */
import type { AuditAction, AuditDetails, AuditSubject } from '#shared/access/audit.ts';
import type { AccessKeyData, StoreAccessData } from '../access/announce.ts';
import { type AccessRecord, type Change, changeAccess, type Changed, NotLiveYet } from '../access/change.ts';
import type { Subject } from '../access/subject.ts';
import type { Servers } from '../connection/servers.ts';
import { audited } from './audited.ts';

/**
 * As `changeAccess`, recorded.
 * @param about what the change is about, as far as the command knows; the record there is says the rest.
 * @throws as `changeAccess`.
 */
export async function auditedChange<S extends AccessKeyData | StoreAccessData, R extends AccessRecord>(
  servers: Servers,
  { action, details = {}, ...about }: AuditSubject & { action: AuditAction; details?: AuditDetails },
  subject: Subject<S, R>,
  change: Change<S>,
): Promise<Changed<S>> {
  const record = await subject.read();
  const known = record === null ? {} : { environment: record.environment, store_id: record.store_id };
  let late: NotLiveYet | undefined;
  const changed = await audited(servers, { action, details, ...known, ...about }, async () => {
    try {
      const result = await changeAccess(servers, subject, change);
      const { state, sequence, changed: anew, live } = result;
      return { result, details: { ...stateOf(state), sequence, changed: anew, live }, ...ownerOf(state) };
    } catch (error) {
      if (!(error instanceof NotLiveYet)) throw error;
      // It is done all the same, and takes effect when a projector gets there.
      late = error;
      return { result: null, details: { ...stateOf(error.state), live: false }, ...ownerOf(error.state) };
    }
  });
  if (changed === null) throw late ?? new Error('a change has no result');
  return changed;
}

/** A state as the audit may show it: how many secrets there are, never their hashes. */
function stateOf(state: AccessKeyData | StoreAccessData): AuditDetails {
  if (!('scopes' in state)) return { status: state.status };
  const { status, scopes, secret_sha256: hashes, secret_expires_at: expiry } = state;
  const [end] = Object.values(expiry ?? {});
  return {
    status,
    scopes,
    secrets: hashes.length,
    ...(end === undefined ? {} : { old_secret_ends_at: end }),
  };
}

/** Of a key that was only announced when the command began. */
function ownerOf(state: AccessKeyData | StoreAccessData): { subject?: AuditSubject } {
  return 'store_id' in state ? { subject: { environment: state.environment, store_id: state.store_id } } : {};
}
