/** Looks whether any broker takes connections: kafkajs would try for seconds, and hide why. */
import { connect } from 'node:net';

const PROBE_MS = 3_000;

/** Resolves once one of the addresses takes a connection; rejects with the first failure when none does. */
export async function probeBrokers(brokers: readonly string[]): Promise<void> {
  try {
    await Promise.any(brokers.map(probe));
  } catch (error) {
    throw error instanceof AggregateError ? error.errors[0] : error;
  }
}

function probe(broker: string): Promise<void> {
  const colon = broker.lastIndexOf(':');
  const host = broker.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(broker.slice(colon + 1)) });
    socket.setTimeout(PROBE_MS, () => {
      socket.destroy();
      reject(new Error(`connect ETIMEDOUT ${broker}`));
    });
    socket.once('connect', () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });
}
