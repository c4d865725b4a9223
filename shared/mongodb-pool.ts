/** How busy the connections to MongoDB are: what waits for one is slow although MongoDB may be quick. */
import type { MongoClient } from 'mongodb';
import type { makersIn } from './process-metrics.ts';

/** Makes the metrics of a process's pool. */
export function poolMetrics({ gauge }: Pick<ReturnType<typeof makersIn>, 'gauge'>) {
  return {
    inUse: gauge(
      'store_data_mongodb_connections_in_use',
      'Connections to MongoDB on which something is under way',
    ),
    waiting: gauge(
      'store_data_mongodb_connections_awaited',
      'Operations that wait for a connection to MongoDB',
    ),
  };
}

/** Keeps them up to date from what the driver tells of its pool. */
export function watchPool(client: MongoClient, { inUse, waiting }: ReturnType<typeof poolMetrics>): void {
  client.on('connectionCheckOutStarted', () => waiting.inc());
  client.on('connectionCheckOutFailed', () => waiting.dec());
  client.on('connectionCheckedOut', () => {
    waiting.dec();
    inUse.inc();
  });
  client.on('connectionCheckedIn', () => inUse.dec());
}
