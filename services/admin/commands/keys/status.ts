/** `keys revoke`, `keys deactivate` and `keys activate`. */
import type { Command } from 'commander';
import type { KeyStatus } from '#shared/events/access-event.ts';
import { existingKey } from '../../access/existing-key.ts';
import { keySubject } from '../../access/key-subject.ts';
import { auditedChange } from '../../audit/audited-change.ts';
import { withServers } from '../../connection/servers.ts';
import { clientId as readClientId, jsonOption, waitOption } from '../../options.ts';
import { remark } from '../../output/print.ts';
import { printKey } from './print-key.ts';

interface Flags {
  wait: number;
  json?: true;
}

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

export function addStatusCommands(keys: Command): void {
  for (const command of COMMANDS) {
    keys
      .command(command.name)
      .description(command.description)
      .argument('<client_id>', 'the key', readClientId)
      .addOption(waitOption())
      .addOption(jsonOption())
      .addHelpText(
        'after',
        `\n${command.help}\n\nExample:\n  npm run store-data -- keys ${command.name} 5Q2ncPBXlYsKEvoH3RwTgm8d`,
      )
      .action((clientId: string, flags: Flags) => setStatus(clientId, flags, command));
  }
}

async function setStatus(clientId: string, flags: Flags, { name, status }: StatusCommand): Promise<void> {
  const revoked = status === 'revoked' ? 'accept' : 'refuse';
  await withServers(async (servers) => {
    const about = { action: `keys.${name}`, client_id: clientId } as const;
    const changed = await auditedChange(servers, about, keySubject(clientId, servers.config.namePrefix), {
      compose: (before) => ({ ...existingKey(clientId, before, { revoked }), status }),
      holds: (state) => state.status === status,
      waitMs: flags.wait * 1_000,
    });
    if (!changed.changed) remark(`note: it was ${status} already`);
    printKey(clientId, changed, { json: flags.json === true });
  });
}
