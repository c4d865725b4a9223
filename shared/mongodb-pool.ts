/**
 * How busy the connections to MongoDB are, and how long each is used: what waits for one is slow although MongoDB may be quick. A
 * connection is taken for one command and given back with its answer, so that this times commands without the driver's
 * monitoring, which copies each of them.
 */
import type { MongoClient } from 'mongodb';
import type { metricFactory } from './process-metrics.ts';

/** Makes the metrics of a process's pool. */
export function poolMetrics({
  gauge,
  histogram,
}: Pick<ReturnType<typeof metricFactory>, 'gauge' | 'histogram'>) {
  return {
    inUse: gauge(
      'store_data_mongodb_connections_in_use',
      'Connections to MongoDB on which something is under way',
    ),
    waiting: gauge(
      'store_data_mongodb_connections_awaited',
      'Operations that wait for a connection to MongoDB',
    ),
    seconds: histogram(
      'store_data_mongodb_seconds',
      'Seconds that a command to MongoDB takes, once it has a connection',
      [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    ),
  };
}

/** Keeps them up to date from what the driver tells of its pools, one for each server. */
export function watchPool(
  client: MongoClient,
  { inUse, waiting, seconds }: ReturnType<typeof poolMetrics>,
): void {
  const since = new Map<string, number>();
  const nameOf = ({ address, connectionId }: { address: string; connectionId: number | '<monitor>' }) =>
    `${address}/${connectionId}`;
  client.on('connectionCheckOutStarted', () => waiting.inc());
  client.on('connectionCheckOutFailed', () => waiting.dec());
  client.on('connectionCheckedOut', (event) => {
    waiting.dec();
    inUse.inc();
    since.set(nameOf(event), performance.now());
  });
  client.on('connectionCheckedIn', (event) => {
    inUse.dec();
    const name = nameOf(event);
    const began = since.get(name);
    since.delete(name);
    if (began !== undefined) seconds.observe((performance.now() - began) / 1_000);
  });
}
