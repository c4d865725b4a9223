/** A query service in a separate process, to be attacked with connections. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect } from 'vitest';
import { createApiClient } from '#test/api-client.ts';
import { type QueryService, startQueryService } from '#test/query-service.ts';
import { times } from '#test/times.ts';
import { listening, type ServiceProcess, startService } from '#test/service-process.ts';

interface Opening {
  bytes?: string;
  /** The address of the client. */
  from?: string;
  /** The URL of another service. */
  to?: string;
}

export interface AttackedService {
  service: QueryService;
  attacked: ServiceProcess;
  url: string;
  operations: string;
  /** Opens connections, and sends the same bytes through each. */
  openMany: (count: number, opening?: Opening) => Promise<Socket[]>;
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

  const open = async ({ bytes = '', from = '127.0.0.1', to = url }: Opening) => {
    const { hostname: host, port } = new URL(to);
    const socket = connect({ host, port: Number(port), localAddress: from });
    sockets.push(socket);
    await once(socket, 'connect');
    // A reset closes it.
    socket.on('error', () => undefined);
    socket.write(bytes);
    return socket;
  };
  return {
    service,
    attacked,
    url,
    operations,
    openMany: (count, opening = {}) => Promise.all(times(count, () => open(opening))),
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
      expect(attacked.lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
    },
  };
}

/** All data until the server closes the connection. */
export async function readToEnd(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  if (!socket.closed) await once(socket, 'close');
  return text;
}
