/** `keys scopes`, `keys revoke`, `keys deactivate` and `keys activate`: what a key may do, from now on and for tokens already issued. */
import { Command } from '@commander-js/extra-typings';
import type { KeyStatus } from '#shared/events/access-event.ts';
import {
  type About,
  type Change,
  changeAccess,
  type Changed,
  IncompleteChange,
} from '../../access/change.ts';
import { type AccessKeyData, existingKey, keySubject } from '../../access/subject.ts';
import { type Servers, withServers } from '../../connection/servers.ts';
import { clientId as readClientId, jsonOption, scopesOption, waitOption } from '../../options.ts';
import { printResult, remark, renderFacts } from '../../output/print.ts';

export const scopesCommand = () =>
  new Command('scopes')
    .description('Replace the scopes of a key')
    .argument('<client_id>', 'the key', readClientId)
    .addOption(
      scopesOption('--set <list>', 'all scopes it shall have, separated by commas').makeOptionMandatory(),
    )
    .addOption(waitOption())
    .addOption(jsonOption())
    .action((clientId, flags) =>
      withServers(async (servers) => {
        const about = { action: 'keys.scopes', details: { scopes: flags.set } } as const;
        await changeKey(servers, clientId, flags, about, {
          compose: (before) => ({ ...existingKey(clientId, before), scopes: flags.set }),
        });
      }),
    );

interface StatusCommand {
  name: 'revoke' | 'deactivate' | 'activate';
  description: string;
  status: KeyStatus;
}

const COMMANDS: StatusCommand[] = [
  {
    name: 'revoke',
    description: 'End a key for good',
    status: 'revoked',
  },
  {
    name: 'deactivate',
    description: 'Suspend a key until it is activated',
    status: 'inactive',
  },
  {
    name: 'activate',
    description: 'Let a suspended key in again',
    status: 'active',
  },
];

export const statusCommands = () => COMMANDS.map(statusCommand);

function statusCommand({ name, description, status }: StatusCommand) {
  return new Command(name)
    .description(description)
    .argument('<client_id>', 'the key', readClientId)
    .addOption(waitOption())
    .addOption(jsonOption())
    .action((clientId, flags) =>
      withServers(async (servers) => {
        const revoked = status === 'revoked' ? 'accept' : 'refuse';
        const { changed } = await changeKey(
          servers,
          clientId,
          flags,
          { action: `keys.${name}` },
          {
            compose: (before) => ({ ...existingKey(clientId, before, { revoked }), status }),
          },
        );
        if (!changed) remark(`note: it was ${status} already`);
      }),
    );
}

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
  about: About,
  { compose }: Pick<Change<AccessKeyData>, 'compose'>,
  fresh?: { secret: string | null },
): Promise<Changed<AccessKeyData>> {
  const subject = keySubject(await servers.control(), servers.config.namePrefix, clientId);
  try {
    const change = { compose, waitMs: flags.wait * 1_000 };
    const changed = await changeAccess(servers, { client_id: clientId, ...about }, subject, change);
    printKey(clientId, { ...changed, live: true }, flags, fresh?.secret);
    return changed;
  } catch (error) {
    // The change is in MongoDB, and its secret nowhere else.
    if (fresh !== undefined && error instanceof IncompleteChange) {
      const state = error.state as AccessKeyData;
      printKey(clientId, { state, changed: true, live: false }, flags, fresh.secret);
    }
    throw error;
  }
}

function printKey(
  clientId: string,
  { state, changed, live }: Changed<AccessKeyData> & { live: boolean },
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
