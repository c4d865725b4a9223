/** A TCP proxy whose connections can be frozen or cut: a server that hangs or is gone, for one test alone. */
import { connect, createServer, type Socket } from 'node:net';

export interface TcpProxy extends AsyncDisposable {
  port: number;
  /** Nothing passes any more, new connections are accepted and stay silent: like a stopped process. */
  freeze: () => void;
  /** Connections end and new ones are refused: like a killed process. */
  cut: () => Promise<void>;
  /** Everything passes again and at once; what was held back, too. */
  restore: () => Promise<void>;
  /** What comes back from the server comes so many milliseconds later: like one that is overloaded. */
  slowDown: (milliseconds: number) => void;
  /** The connections that are there stay open and silent for ever; new ones are not concerned: like a link that forgot them. */
  strand: () => void;
  /** New connections go to another server: like an address that moves in a failover. */
  retarget: (target: { host: string; port: number }) => void;
  close: () => Promise<void>;
}

/** Starts a proxy in front of a server. */
export async function startTcpProxy(first: { host: string; port: number }): Promise<TcpProxy> {
  const pairs = new Set<[Socket, Socket]>();
  /** The clients' ends of connections whose other ends are gone without a word. */
  const stranded = new Set<Socket>();
  let target = first;
  let frozen = false;
  let delayMs = 0;
  const server = createServer((client) => {
    const upstream = connect(target);
    const pair: [Socket, Socket] = [client, upstream];
    pairs.add(pair);
    join(client, upstream, () => 0);
    join(upstream, client, () => delayMs);
    if (frozen) for (const socket of pair) socket.pause();
  });
  const join = (from: Socket, to: Socket, delayOf: () => number) => {
    from.on('data', (chunk) => {
      if (stranded.has(from)) return;
      const delay = delayOf();
      if (delay === 0) to.write(chunk);
      else setTimeout(() => to.writable && to.write(chunk), delay);
    });
    from.on('error', () => to.destroy());
    from.on('close', () => {
      if (!stranded.has(to)) to.destroy();
      for (const pair of pairs) if (pair.includes(from)) pairs.delete(pair);
    });
  };
  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => {
        server.off('error', reject);
        resolve();
      });
    });
  const cut = async () => {
    const closed = new Promise<void>((resolve) => {
      if (server.listening) server.close(() => resolve());
      else resolve();
    });
    for (const pair of pairs) for (const socket of pair) socket.destroy();
    for (const socket of stranded) socket.destroy();
    await closed;
  };
  await listen(0);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  const { port } = address;
  return {
    port,
    cut,
    freeze() {
      frozen = true;
      for (const pair of pairs) for (const socket of pair) socket.pause();
    },
    strand() {
      for (const [client, upstream] of pairs) {
        stranded.add(client);
        client.once('close', () => stranded.delete(client));
        upstream.destroy();
      }
    },
    slowDown(milliseconds) {
      delayMs = milliseconds;
    },
    retarget(other) {
      target = other;
    },
    async restore() {
      frozen = false;
      delayMs = 0;
      for (const pair of pairs) for (const socket of pair) socket.resume();
      if (!server.listening) await listen(port);
    },
    close: cut,
    [Symbol.asyncDispose]: cut,
  };
}
