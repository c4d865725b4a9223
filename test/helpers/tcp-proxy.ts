/**
 * A TCP proxy that freezes or cuts connections, to simulate a hanging or dead server for one test.
 */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface TcpProxy extends AsyncDisposable {
  port: number;
  /** No data passes, and new connections are accepted and stay silent: like a stopped process. */
  freeze: () => void;
  /** Connections are closed and new ones refused: like a killed process. */
  cut: () => Promise<void>;
  /** All data passes again, including held-back data. */
  restore: () => Promise<void>;
  /** Delays answers by so many milliseconds: like an overloaded server. */
  slowDown: (milliseconds: number) => void;
  /**
   * Answers after one that contains the text are held back: like a network that fails after the
   * handshake.
   */
  fallSilentAfter: (text: string) => void;
  /**
   * Existing connections stay open and silent forever, new ones work: like a NAT that dropped its
   * state.
   */
  strand: () => void;
  /** New connections go to another server: like an address after a failover. */
  retarget: (target: { host: string; port: number }) => void;
  close: () => Promise<void>;
}

/** Starts a proxy in front of a server. */
export async function startTcpProxy(first: { host: string; port: number }): Promise<TcpProxy> {
  const pairs = new Set<[Socket, Socket]>();
  /** Client sockets whose server side was dropped silently. */
  const stranded = new Set<Socket>();
  let target = first;
  let frozen = false;
  let delayMs = 0;
  let lastAnswer: string | null = null;
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
      if (lastAnswer !== null && chunk.includes(lastAnswer)) from.pause();
    });
    from.on('error', () => to.destroy());
    from.on('close', () => {
      if (!stranded.has(to)) to.destroy();
      for (const pair of pairs) if (pair.includes(from)) pairs.delete(pair);
    });
  };
  const listen = (port: number) => once(server.listen(port, '127.0.0.1'), 'listening');
  const cut = async () => {
    const closed = server.listening ? once(server.close(), 'close') : null;
    for (const pair of pairs) for (const socket of pair) socket.destroy();
    for (const socket of stranded) socket.destroy();
    await closed;
  };
  const port = await listenBelowEphemeral(listen);
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
    fallSilentAfter(text) {
      lastAnswer = text;
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
      lastAnswer = null;
      for (const pair of pairs) for (const socket of pair) socket.resume();
      if (!server.listening) await listen(port);
    },
    close: cut,
    [Symbol.asyncDispose]: cut,
  };
}

/**
 * Listens on a port below those that the system hands out. So no other process gets it while a
 * proxy is cut, and the proxy can listen there again.
 */
async function listenBelowEphemeral(listen: (port: number) => Promise<unknown>): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_768);
    try {
      await listen(port);
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}
