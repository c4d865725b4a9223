/** `keys revoke`, `keys deactivate` and `keys activate`. */
import { Command } from '@commander-js/extra-typings';
import type { KeyStatus } from '#shared/events/access-event.ts';
import { existingKey } from '../../access/existing-key.ts';
import { withServers } from '../../connection/servers.ts';
import { clientId as readClientId, jsonOption, waitOption } from '../../options.ts';
import { remark } from '../../output/print.ts';
import { changeKey } from './change-key.ts';

interface StatusCommand {
  name: 'revoke' | 'deactivate' | 'activate';
  description: string;
  status: KeyStatus;
  help: string;
}

const AT_ONCE = 'It counts at once, for tokens already issued too, also while no projector runs.';

const COMMANDS: StatusCommand[] = [
  {
    name: 'revoke',
    description: 'End a key for good',
    status: 'revoked',
    help: `${AT_ONCE}\nA revoked key never comes back.`,
  },
  {
    name: 'deactivate',
    description: 'Suspend a key until it is activated',
    status: 'inactive',
    help: AT_ONCE,
  },
  {
    name: 'activate',
    description: 'Let a suspended key in again',
    status: 'active',
    help: 'It is live when the command ends.',
  },
];

export const statusCommands = () => COMMANDS.map(statusCommand);

function statusCommand({ name, description, status, help }: StatusCommand) {
  return new Command(name)
    .description(description)
    .argument('<client_id>', 'the key', readClientId)
    .addOption(waitOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `\n${help}\n\nExample:\n  npm run store-data -- keys ${name} 5Q2ncPBXlYsKEvoH3RwTgm8d`,
    )
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
