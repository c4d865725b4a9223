// mongod's settings: the same for the program and for the container.
import { REPLICA_SET } from './replica-set.ts';

/** A replica set of one, with little memory and without what only a production server needs. */
export function mongodArguments(port: number): string[] {
  return [
    `--port=${port}`,
    `--replSet=${REPLICA_SET}`,
    '--wiredTigerCacheSizeGB=1',
    '--setParameter=diagnosticDataCollectionEnabled=false',
    // A primary waits this long for others to take over before it ends, and there are none.
    '--setParameter=shutdownTimeoutMillisForSignaledShutdown=100',
  ];
}
