/** `keys scopes`, `keys revoke`, `keys deactivate` and `keys activate`: what a key may do, from now on and for tokens already issued. */
import { Command } from '@commander-js/extra-typings';
import type { KeyStatus } from '#shared/events/access-event.ts';
import { existingKey } from '../../access/subject.ts';
import { withServers } from '../../connection/servers.ts';
import { clientId as readClientId, jsonOption, scopesOption, waitOption } from '../../options.ts';
import { remark } from '../../output/print.ts';
import { changeKey } from './change-key.ts';

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
          holds: ({ scopes }) => scopes.join() === flags.set.join(),
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
            holds: (state) => state.status === status,
          },
        );
        if (!changed) remark(`note: it was ${status} already`);
      }),
    );
}
