/**
 * Watches the commands of all MongoDB clients in this process whose address has
 * `monitorCommands=true`.
 */
import { type CommandStartedEvent, MongoClient } from 'mongodb';
import type { Sent } from './shard-targeting.ts';

/** An address with that option. */
export function watchedAddress(uri: string): string {
  const open = uri.includes('?') ? `${uri}&` : uri.replace(/(?<=[^/])\/?$/, '/?');
  return `${open}monitorCommands=true`;
}

/**
 * Starts watching.
 * @param see called with each command before it is sent.
 * @returns a function that stops watching.
 */
export function watchCommands(see: (sent: Sent) => void): () => void {
  const { prototype } = MongoClient;
  // Product code creates the clients, so the prototype's `emit` is the only place to see their
  // events.
  const { emit } = prototype;
  const watching = function (this: MongoClient, ...[event, ...rest]: Parameters<typeof emit>) {
    if (event === 'commandStarted') see(sentBy(this, rest[0] as CommandStartedEvent));
    return emit.call(this, event, ...rest);
  };
  Object.assign(prototype, { emit: watching });
  return () => {
    Object.assign(prototype, { emit });
  };
}

function sentBy({ options }: MongoClient, { command, databaseName }: CommandStartedEvent): Sent {
  const isInTransaction = command['autocommit'] === false;
  return {
    app: options.appName ?? 'test',
    database: databaseName,
    command,
    transaction: isInTransaction
      ? `${command['lsid'].id.toString('hex')}/${String(command['txnNumber'])}`
      : null,
  };
}
