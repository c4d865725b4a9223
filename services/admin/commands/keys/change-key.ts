/** Changes a key as a command asks, has it in the audit, and shows it. */
import type { AuditAction, AuditDetails, AuditSubject } from '#shared/access/audit.ts';
import type { AccessKeyData } from '../../access/announce.ts';
import { type Change, type Changed, NotLiveYet } from '../../access/change.ts';
import { keySubject } from '../../access/subject.ts';
import { auditedChange } from '../../audit/audited-change.ts';
import type { Servers } from '../../connection/servers.ts';
import { printResult, renderFacts } from '../../output/print.ts';

interface Flags {
  /** Seconds. */
  wait: number;
  json?: true | undefined;
}

/**
 * Changes a key.
 * @param fresh of credentials that are new: where the secret was made here it is shown, and stored nowhere else.
 * @throws as `changeAccess`.
 */
export async function changeKey(
  servers: Servers,
  clientId: string,
  flags: Flags,
  about: AuditSubject & { action: AuditAction; details?: AuditDetails },
  change: Omit<Change<AccessKeyData>, 'waitMs'>,
  fresh?: { secret: string | null },
): Promise<Changed<AccessKeyData>> {
  const subject = keySubject(await servers.control(), servers.config.namePrefix, clientId);
  try {
    const waitMs = flags.wait * 1_000;
    const changed = await auditedChange(servers, { client_id: clientId, ...about }, subject, {
      ...change,
      waitMs,
    });
    printKey(clientId, changed, flags, fresh?.secret);
    return changed;
  } catch (error) {
    // The key is on its way, and its secret is nowhere else.
    if (fresh !== undefined && error instanceof NotLiveYet && 'scopes' in error.state) {
      printKey(clientId, { state: error.state, changed: true, live: false }, flags, fresh.secret);
    }
    throw error;
  }
}

function printKey(
  clientId: string,
  { state, changed, live }: Pick<Changed<AccessKeyData>, 'state' | 'changed' | 'live'>,
  flags: Flags,
  secret: string | null = null,
): void {
  const { environment, store_id, scopes, status } = state;
  const oldSecret = oldSecretOf(state);
  printResult(
    flags,
    {
      client_id: clientId,
      ...(secret !== null && { client_secret: secret }),
      store_id,
      environment,
      scopes,
      status,
      ...(oldSecret !== null && { old_secret_ends_at: oldSecret.endsAt }),
      changed,
      live,
    },
    renderFacts([
      ['client_id', clientId],
      ...(secret === null ? [] : [['client_secret', secret] as const]),
      ['store', store_id],
      ['environment', environment],
      ['scopes', scopes.join(' ') || '(none)'],
      ['status', live ? status : `${status} (not live yet)`],
      ...(oldSecret === null
        ? []
        : [['old secret', `counts until ${oldSecret.endsAt ?? '--retire-old'}`] as const]),
    ]),
  );
}

/** The end of the older of two secrets, `null` while it has none. */
function oldSecretOf({
  secret_sha256: [, old],
  secret_expires_at: expiry,
}: AccessKeyData): { endsAt: string | null } | null {
  return old === undefined ? null : { endsAt: expiry?.[old] ?? null };
}
