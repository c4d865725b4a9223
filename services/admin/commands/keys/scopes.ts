/** `keys scopes`: what a key may read, from now on and for tokens already issued. */
import type { Command } from 'commander';
import type { Scope } from '#shared/events/access-event.ts';
import { existingKey } from '../../access/existing-key.ts';
import { keySubject } from '../../access/key-subject.ts';
import { auditedChange } from '../../audit/audited-change.ts';
import { withServers } from '../../connection/servers.ts';
import { clientId as readClientId, jsonOption, scopesOption, waitOption } from '../../options.ts';
import { printKey } from './print-key.ts';

interface Flags {
  set: Scope[];
  wait: number;
  json?: true;
}

const EXAMPLES = `
Scopes that are taken away count at once, whether a projector runs or not.

Example:
  npm run store-data -- keys scopes 5Q2ncPBXlYsKEvoH3RwTgm8d --set order,menu`;

export function addScopesCommand(keys: Command): void {
  keys
    .command('scopes')
    .description('Replace the scopes of a key')
    .argument('<client_id>', 'the key', readClientId)
    .addOption(
      scopesOption('--set <list>', 'all scopes it shall have, separated by commas').makeOptionMandatory(),
    )
    .addOption(waitOption())
    .addOption(jsonOption())
    .addHelpText('after', EXAMPLES)
    .action((clientId: string, flags: Flags) =>
      withServers(async (servers) => {
        const about = {
          action: 'keys.scopes',
          client_id: clientId,
          details: { scopes: flags.set },
        } as const;
        const changed = await auditedChange(servers, about, keySubject(clientId, servers.config.namePrefix), {
          compose: (before) => ({ ...existingKey(clientId, before), scopes: flags.set }),
          holds: ({ scopes }) => scopes.join() === flags.set.join(),
          waitMs: flags.wait * 1_000,
        });
        printKey(clientId, changed, { json: flags.json === true });
      }),
    );
}
