/** How a changed key is shown. */
import type { Changed } from '../../access/change.ts';
import type { AccessKeyData } from '../../access/announce.ts';
import { print, printJson } from '../../output/print.ts';
import { renderFacts } from '../../output/table.ts';

/** Prints a key after a change; `secret` is shown here and nowhere else. */
export function printKey(
  clientId: string,
  { state, changed, live }: Pick<Changed<AccessKeyData>, 'state' | 'changed' | 'live'>,
  { json, secret }: { json: boolean; secret?: string },
): void {
  const { environment, store_id, scopes, status } = state;
  const oldSecret = oldSecretOf(state);
  if (json) {
    printJson({
      client_id: clientId,
      ...(secret === undefined ? {} : { client_secret: secret }),
      store_id,
      environment,
      scopes,
      status,
      ...(oldSecret === null ? {} : { old_secret_ends_at: oldSecret.endsAt }),
      changed,
      live,
    });
    return;
  }
  print(
    renderFacts([
      ['client_id', clientId],
      ...(secret === undefined ? [] : [['client_secret', secret] as const]),
      ['store', store_id],
      ['environment', environment],
      ['scopes', scopes.join(' ') || '(none)'],
      ['status', live ? status : `${status} (not live yet)`],
      ...(oldSecret === null ? [] : [['old secret', inWords(oldSecret)] as const]),
    ]),
  );
}

/** The end of the older of two secrets, `null` while it has none. */
interface OldSecret {
  endsAt: string | null;
}

function oldSecretOf({ secret_sha256: [, old], secret_expires_at: expiry }: AccessKeyData): OldSecret | null {
  return old === undefined ? null : { endsAt: expiry?.[old] ?? null };
}

function inWords({ endsAt }: OldSecret): string {
  return endsAt === null ? 'counts until --retire-old' : `counts until ${endsAt}`;
}
