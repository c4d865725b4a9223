/** A query service in a separate process, to be attacked with connections. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect } from 'vitest';
import { createApiClient } from '#test/api-client.ts';
import { type QueryService, startQueryService } from '#test/query-service.ts';
import { listening, type ServiceProcess, startService } from '#test/service-process.ts';

export interface AttackedService {
  service: QueryService;
  attacked: ServiceProcess;
  url: string;
  operations: string;
  /** Opens connections to this service, or to another. */
  openMany: (count: number, address?: string, localAddress?: string) => Promise<Socket[]>;
  /** Asserts that a normal client gets every answer quickly. */
  expectNormalService: (requests: number) => Promise<void>;
  close: () => Promise<void>;
}

export async function startAttackedService(): Promise<AttackedService> {
  const service = await startQueryService();
  await service.setKey({ clientId: 'full' });
  const attacked = startService('query', service.installation.env);
  const { url, operations } = await listening(attacked);
  const api = createApiClient(url);
  const sockets: Socket[] = [];

  const open = async (address: string, localAddress?: string) => {
    const { hostname, port } = new URL(address);
    const socket = connect({
      host: hostname,
      port: Number(port),
      ...(localAddress === undefined ? {} : { localAddress }),
    });
    sockets.push(socket);
    await once(socket, 'connect');
    return socket;
  };
  return {
    service,
    attacked,
    url,
    operations,
    async openMany(count, address = url, localAddress?: string) {
      const opened: Socket[] = [];
      while (opened.length < count) {
        const batch = Math.min(250, count - opened.length);
        opened.push(
          ...(await Promise.all(
            Array.from({ length: batch }, async () => open(address, localAddress)),
          )),
        );
      }
      return opened;
    },
    async expectNormalService(requests) {
      const token = await api.token('full', 'secret');
      for (let index = 0; index < requests; index += 1) {
        const asked = performance.now();
        expect((await api.get('/api/order/list', token)).status).toBe(200);
        expect(performance.now() - asked).toBeLessThan(5_000);
      }
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      attacked.kill('SIGTERM');
      await attacked.ended;
      await service.close();
      // An attack must not make the service log an internal failure.
      expect(
        attacked.lines.filter(({ level }) => typeof level === 'number' && level >= 50),
      ).toEqual([]);
    },
  };
}

/** All data until the server closes the connection. */
export async function readToEnd(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  // A reset closes it, too.
  socket.on('error', () => undefined);
  if (!socket.closed) await once(socket, 'close');
  return text;
}
