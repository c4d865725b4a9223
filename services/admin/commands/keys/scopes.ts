/** `keys scopes`: what a key may read, from now on and for tokens already issued. */
import { Command } from '@commander-js/extra-typings';
import { existingKey } from '../../access/existing-key.ts';
import { withServers } from '../../connection/servers.ts';
import { clientId as readClientId, jsonOption, scopesOption, waitOption } from '../../options.ts';
import { changeKey } from './change-key.ts';

const EXAMPLES = `
Scopes that are taken away count at once, whether a projector runs or not.

Example:
  npm run store-data -- keys scopes 5Q2ncPBXlYsKEvoH3RwTgm8d --set order,menu`;

export const scopesCommand = () =>
  new Command('scopes')
    .description('Replace the scopes of a key')
    .argument('<client_id>', 'the key', readClientId)
    .addOption(
      scopesOption('--set <list>', 'all scopes it shall have, separated by commas').makeOptionMandatory(),
    )
    .addOption(waitOption())
    .addOption(jsonOption())
    .addHelpText('after', EXAMPLES)
    .action((clientId, flags) =>
      withServers(async (servers) => {
        const about = { action: 'keys.scopes', details: { scopes: flags.set } } as const;
        await changeKey(servers, clientId, flags, about, {
          compose: (before) => ({ ...existingKey(clientId, before), scopes: flags.set }),
          holds: ({ scopes }) => scopes.join() === flags.set.join(),
        });
      }),
    );
