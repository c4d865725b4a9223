/** The HTTP server beneath the app: its time limits, HTTPS where there is a certificate, and the sockets on which it listens. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import { type AddressInfo, createServer as createNetServer, type Socket } from 'node:net';
import { readTlsFiles, type TlsFiles } from '#shared/config/files.ts';
import type { Logger } from '#shared/logging.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';

/** A request, headers and body, must have arrived within this time. */
const REQUEST_TIMEOUT_MS = 10_000;
/** A client that takes nothing of its answer is cut off after once to twice this time. */
const STALLED_TIMEOUT_MS = 10_000;
/** Longer than balancers keep idle connections (60 s), so that none is closed under a request of theirs. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
const CERTIFICATE_LOOK_MS = 5_000;
/** A turn of the event loop accepts one connection of each socket: with one, clients that connect together wait for seconds. */
const LISTENING_SOCKETS = 64;

const OPTIONS: ServerOptions = {
  headersTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16_384,
  // Checked by a hook of ours (hooks/requests.ts), whose answer has a body.
  requireHostHeader: false,
};

export interface ListenerOptions {
  tls: TlsFiles;
  /** Whether each connection is closed with its next answer. */
  isEnding: () => boolean;
  logger: Logger;
}

export function createListener(handler: RequestListener, { tls, isEnding, logger }: ListenerOptions): Server {
  const listener: RequestListener = (request, response) => {
    if (isEnding()) response.setHeader('connection', 'close');
    response.on('timeout', (socket: Socket) => {
      // Whose answer is not made yet waits for us, as long as servers may take.
      if (response.headersSent) socket.destroy();
      else socket.setTimeout(server.timeout);
    });
    handler(request, response);
  };
  const server = tls.certFile === null ? createServer(OPTIONS, listener) : listenByTls(listener, tls, logger);
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  server.setTimeout(STALLED_TIMEOUT_MS);
  // Node would drop those above 2,000 without a word: one that we decide by could be among them. Their bytes are limited.
  server.maxHeadersCount = 0;
  return server;
}

export type Listening = Awaited<ReturnType<typeof listenOnPort>>;

/** Listens on one port by many sockets, among which the kernel shares out connections (`SO_REUSEPORT`); by one where it is no Linux. */
export async function listenOnPort(
  server: Server,
  { host, port, isTls }: { host: string; port: number; isTls: boolean },
  listen: (options: { host: string; port: number; reusePort: boolean }) => Promise<string>,
) {
  if (process.platform !== 'linux') {
    return { url: await listen({ host, port, reusePort: false }), close: async () => undefined };
  }
  // Sockets that share a port share it with those of any other process of this user: this one finds out whether it is taken.
  if (port !== 0) {
    const probe = createNetServer().listen({ host, port });
    await once(probe, 'listening');
    probe.close();
    await once(probe, 'close');
  }
  const url = await listen({ host, port, reusePort: true });
  const address = server.address() as AddressInfo;
  const others = Array.from({ length: LISTENING_SOCKETS - 1 }, () =>
    createNetServer({ allowHalfOpen: !isTls, noDelay: true }, (socket) => server.emit('connection', socket)),
  );
  /** Accepts no connection any longer. Resolves when the last one has ended. */
  const close = async () => {
    await Promise.all(others.map((other) => new Promise((resolve) => void other.close(resolve))));
  };
  try {
    await Promise.all(
      others.map(async (other) => {
        await once(other.listen({ host: address.address, port: address.port, reusePort: true }), 'listening');
      }),
    );
  } catch (error) {
    await close();
    throw error;
  }
  return { url, close };
}

function listenByTls(handler: RequestListener, files: TlsFiles, logger: Logger): TlsServer {
  let material = readTlsFiles(files);
  const server = createTlsServer({ ...OPTIONS, ...material }, handler);
  // Certificates are renewed under a service that runs.
  const work = {
    run: async () => {
      const found = readTlsFiles(files);
      if (found.cert === material.cert && found.key === material.key) return;
      server.setSecureContext(found);
      material = found;
      logger.info('the certificate was read again');
    },
    everyMs: CERTIFICATE_LOOK_MS,
    // While both files are replaced they may not fit together.
    failed: (error: string) => logger.warn({ error }, 'the certificate cannot be read again, the former one goes on'),
  };
  const looking = new PeriodicTask(work, CERTIFICATE_LOOK_MS);
  server.once('close', () => void looking.stop());
  return server;
}
