// Free ports of the loopback interface, and the ones a kept data folder used last time.
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';

const HIGHEST_PORT = 65_535;

/**
 * As many different free ports as asked for. Another process may take one before it is used: be ready to retry.
 * @param above the port so many above each is to be free as well.
 */
export async function freePorts(count: number, above = 0): Promise<number[]> {
  // All are opened before any is closed, or the same one could be handed out twice.
  const servers: Server[] = [];
  const ports: number[] = [];
  while (ports.length < count) {
    const server = await listen(0);
    servers.push(server);
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('a TCP server without a port');
    if (above > 0) {
      const other = address.port + above;
      const neighbour = other > HIGHEST_PORT ? null : await listen(other).catch(() => null);
      if (neighbour === null) continue;
      servers.push(neighbour);
    }
    ports.push(address.port);
  }
  await Promise.all(servers.map(close));
  return ports;
}

/** The ports written in `file` when all of them are free now; otherwise new ones, which are then written there. */
export async function savedPorts(file: string, count: number): Promise<number[]> {
  const known = readPorts(file);
  if (known.length === count && (await areFree(known))) return known;
  const ports = await freePorts(count);
  writeFileSync(file, JSON.stringify(ports));
  return ports;
}

function readPorts(file: string): number[] {
  try {
    const ports: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return Array.isArray(ports) ? ports.filter((port) => Number.isInteger(port)) : [];
  } catch {
    // No file yet, or one that was cut short: new ports are as good.
    return [];
  }
}

async function areFree(ports: readonly number[]): Promise<boolean> {
  const servers = await Promise.allSettled(ports.map((port) => listen(port)));
  const opened = servers.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  await Promise.all(opened.map(close));
  return opened.length === ports.length;
}

async function listen(port: number): Promise<Server> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function close(server: Server): Promise<void> {
  server.close();
  await once(server, 'close');
}
