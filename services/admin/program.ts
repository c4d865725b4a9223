/** The tree of commands, and what all of them have in common: help, wrong usage, exit codes. */
import { Command } from 'commander';
import { actor, ACTOR_VARIABLE } from './audit/actor.ts';
import { addAuditCommand } from './commands/audit.ts';
import { addConfigCommand } from './commands/config.ts';
import { addDeadLetterCommands } from './commands/dead-letters/index.ts';
import { addEventsCommand } from './commands/events.ts';
import { addGenerationCommands } from './commands/generations/index.ts';
import { addKeyCommands } from './commands/keys/index.ts';
import { addLagCommand } from './commands/lag.ts';
import { addPrepareCommand } from './commands/prepare.ts';
import { addPublishCommand } from './commands/publish.ts';
import { addQuotaCommands } from './commands/quota/index.ts';
import { addRebuildCommand } from './commands/rebuild.ts';
import { addRollbackCommand } from './commands/rollback.ts';
import { addSessionCommands } from './commands/sessions.ts';
import { addSigningKeyCommands } from './commands/signing-keys.ts';
import { addStoreCommands } from './commands/stores.ts';
import { addVerifyCommand } from './commands/verify.ts';

/** Makes the program; every action ends by returning or throwing, none by exiting. */
export function createProgram(): Command {
  const program = new Command('store-data')
    .description('Feeds the Store Data API with events, and lets operators decide who may read what.')
    .exitOverride()
    .option(
      '--actor <name>',
      `who is noted in the audit; by default ${ACTOR_VARIABLE}, or the user and machine`,
      actor,
    )
    .hook('preAction', (command) => {
      const { actor: name } = command.opts<{ actor?: string }>();
      if (name !== undefined) process.env[ACTOR_VARIABLE] = name;
    })
    .configureOutput({ outputError: (text, write) => write(oneLine(text)) })
    .addHelpText(
      'after',
      `
Run it as "npm run store-data -- <command>"; "<command> --help" shows examples.
For programs that read it: "npm run --silent store-data -- <command> --json".
It reaches the servers that KAFKA_BROKERS, MONGODB_URI and REDIS_URL name, or,
where none of them is set, those of a local stack that runs here (npm start).

Exit codes: 0 done, 1 failed, 2 wrong usage.`,
    );
  addPrepareCommand(program);
  addEventsCommand(program);
  addPublishCommand(program);
  addKeyCommands(program);
  addStoreCommands(program);
  addQuotaCommands(program);
  addSessionCommands(program);
  addSigningKeyCommands(program);
  addAuditCommand(program);
  addDeadLetterCommands(program);
  addRebuildCommand(program);
  addRollbackCommand(program);
  addGenerationCommands(program);
  addLagCommand(program);
  addVerifyCommand(program);
  addConfigCommand(program);
  return program;
}

/** Commander breaks hints off into lines of their own. */
function oneLine(text: string): string {
  return `store-data: ${text
    .replace(/^error: /, '')
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ')}\n`;
}
