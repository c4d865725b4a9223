/** The HTTP server of the app: its limits, HTTPS if there is a certificate, and its listening sockets. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import { type AddressInfo, createServer as createNetServer, type Socket } from 'node:net';
import { readTlsFiles, type TlsFiles } from '#shared/config/files.ts';
import type { Logger } from '#shared/logging.ts';
import { MAX_HEADER_FIELDS } from './responses/send.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';

/** A request, headers and body, must have arrived within this time. */
const REQUEST_TIMEOUT_MS = 10_000;
/** A client that does not read its answer is disconnected after once to twice this time. */
const STALLED_TIMEOUT_MS = 10_000;
/** Longer than load balancers keep idle connections (60 s), so that we close none on which they send a request. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
const CERTIFICATE_POLL_MS = 5_000;
/** A turn of the event loop accepts one connection per socket: with one socket, many new clients would wait for seconds. */
const LISTENING_SOCKETS = 64;

const OPTIONS: ServerOptions = {
  headersTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16_384,
  // `hooks/requests.ts` checks it: its refusal has a body.
  requireHostHeader: false,
};

export interface ListenerOptions {
  tls: TlsFiles;
  /** Whether each connection closes with its next answer. */
  isEnding: () => boolean;
  logger: Logger;
}

export function createListener(handler: RequestListener, { tls, isEnding, logger }: ListenerOptions): Server {
  const listener: RequestListener = (request, response) => {
    if (isEnding()) response.setHeader('connection', 'close');
    response.on('timeout', (socket: Socket) => {
      // Before the answer begins, the client waits for us: it keeps its connection.
      if (response.headersSent) socket.destroy();
      else socket.setTimeout(server.timeout);
    });
    handler(request, response);
  };
  const server = tls.certFile === null ? createServer(OPTIONS, listener) : listenByTls(listener, tls, logger);
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  server.setTimeout(STALLED_TIMEOUT_MS);
  // Thousands of small fields would take many times their bytes. One more than is allowed, so that its refusal has all headers.
  server.maxHeadersCount = MAX_HEADER_FIELDS + 1;
  return server;
}

export type Listening = Awaited<ReturnType<typeof listenOnPort>>;

/** Listens on one port with many sockets (`SO_REUSEPORT`), among which Linux distributes connections; elsewhere with one. */
export async function listenOnPort(
  server: Server,
  { host, port, isTls }: { host: string; port: number; isTls: boolean },
  listen: (options: { host: string; port: number; reusePort: boolean }) => Promise<string>,
) {
  if (process.platform !== 'linux') {
    return { url: await listen({ host, port, reusePort: false }), close: async () => undefined };
  }
  // `SO_REUSEPORT` would silently share the port with another process of this user; this probe fails instead.
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
  /** Accepts no more connections. Resolves when the last one has ended. */
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
  const server = createTlsServer({ ...OPTIONS, ...material, handshakeTimeout: REQUEST_TIMEOUT_MS }, handler);
  const polling = new PeriodicTask(
    {
      run: async () => {
        const found = readTlsFiles(files);
        if (found.cert === material.cert && found.key === material.key) return;
        server.setSecureContext(found);
        material = found;
        logger.info('the certificate was read again');
      },
      everyMs: CERTIFICATE_POLL_MS,
      // While both files are being replaced they may not belong together.
      failed: (error: string) => logger.warn({ error }, 'the certificate cannot be read: the former one stays in use'),
    },
    CERTIFICATE_POLL_MS,
  );
  server.once('close', () => void polling.stop());
  return server;
}
