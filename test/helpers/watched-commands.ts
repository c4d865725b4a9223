/** Watches every command that the MongoDB clients of this process send: those whose address asks for it by `monitorCommands=true`. */
import { type CommandStartedEvent, MongoClient } from 'mongodb';
import type { Sent } from './shard-targeting.ts';

/** An address whose clients are watched. */
export function watchedAddress(uri: string): string {
  const open = uri.includes('?') ? `${uri}&` : uri.replace(/(?<=[^/])\/?$/, '/?');
  return `${open}monitorCommands=true`;
}

/**
 * Watches from now on.
 * @param see told of each command, before it is sent.
 * @returns what ends it.
 */
export function watchCommands(see: (sent: Sent) => void): () => void {
  const { prototype } = MongoClient;
  // Clients are made deep inside of what is watched, and bring each event here.
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
    transaction: isInTransaction ? `${command['lsid'].id.toString('hex')}/${String(command['txnNumber'])}` : null,
  };
}
