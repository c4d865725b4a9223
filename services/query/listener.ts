/**
 * The HTTP server of the app: its limits, HTTPS if there is a certificate, and its listening
 * sockets.
 */
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
} from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import { type AddressInfo, createServer as createNetServer, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { readTlsFiles, type TlsFiles } from '#shared/config/files.ts';
import type { Logger } from '#shared/logging.ts';
import { MAX_HEADER_FIELDS } from './responses/send.ts';
import { startPeriodicTask } from '#shared/periodic-task.ts';

/** A request, headers and body, must have arrived within this time. */
const REQUEST_TIMEOUT_MS = 10_000;
/** A client that does not read its answer is disconnected after once to twice this time. */
const STALLED_TIMEOUT_MS = 10_000;
/**
 * After the end of listening: clients may complete requests for so long, and read answers for so
 * long.
 */
const END_OF_REQUESTS_MS = 2_000;
const END_OF_ANSWERS_MS = 8_000;
const END_POLL_MS = 50;
/**
 * Longer than load balancers keep idle connections (60 s), so that we close none on which they send
 * a request.
 */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
const CERTIFICATE_POLL_MS = 5_000;
/**
 * A turn of the event loop accepts one connection per socket: with one socket, many new clients
 * would wait for seconds.
 */
const LISTENING_SOCKETS = 64;

const OPTIONS: ServerOptions = {
  headersTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16_384,
  // `hooks/requests.ts` checks it: its refusal has a body.
  requireHostHeader: false,
};

interface ClientConnection {
  /** Below TLS, if it is used. */
  socket: Socket;
  /** Those whose answers are not sent yet. */
  requests: Set<IncomingMessage>;
  isUsed: boolean;
}

/** The connections of clients, and how they end when the service stops. */
export function clientConnections() {
  let isEnding = false;
  /** By the addresses of their ends, which TLS and the socket below it share. */
  const open = new Map<string, ClientConnection>();
  /** By the socket that requests name: the search by addresses costs a fiftieth of an answer. */
  const ofSocket = new WeakMap<Socket, ClientConnection>();

  function add(socket: Socket): void {
    const peer = peerOf(socket);
    const connection = { socket, requests: new Set<IncomingMessage>(), isUsed: false };
    open.set(peer, connection);
    socket.once('close', () => {
      // The peer may have connected again.
      if (open.get(peer) === connection) open.delete(peer);
    });
  }

  function begin(...[request, response]: Parameters<RequestListener>): void {
    if (isEnding) response.setHeader('connection', 'close');
    const connection = ofSocket.get(request.socket) ?? use(request.socket);
    if (connection === undefined) return;
    connection.requests.add(request);
    response.on('close', () => connection.requests.delete(request));
  }

  function use(socket: Socket): ClientConnection | undefined {
    const connection = open.get(peerOf(socket));
    if (connection === undefined) return undefined;
    connection.isUsed = true;
    ofSocket.set(socket, connection);
    return connection;
  }

  function closeIdle(): void {
    for (const { socket, requests, isUsed } of open.values()) {
      if (isUsed && requests.size === 0) socket.destroy();
    }
  }

  /**
   * Called when none is accepted any more: ends those that are idle, without a complete request in
   * time, or not read in time.
   */
  function end(): void {
    const began = performance.now();
    const timer = setInterval(() => {
      const ms = performance.now() - began;
      closeIdle();
      for (const { socket, requests } of open.values()) {
        const isAsked = requests.values().some(({ complete }) => complete);
        if (ms >= (isAsked ? END_OF_ANSWERS_MS : END_OF_REQUESTS_MS)) socket.destroy();
      }
      if (open.size === 0) clearInterval(timer);
    }, END_POLL_MS);
  }

  return {
    add,
    begin,
    closeIdle,
    /** Each closes with its next answer. */
    endWithAnswers() {
      isEnding = true;
    },
    end,
  };
}

export type ClientConnections = ReturnType<typeof clientConnections>;

/** The same for a socket and for TLS on it. */
const peerOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;

interface ListenerOptions {
  tls: TlsFiles;
  connections: ClientConnections;
  logger: Logger;
}

export function createListener(
  handler: RequestListener,
  { tls, connections, logger }: ListenerOptions,
): Server {
  const listener: RequestListener = (request, response) => {
    connections.begin(request, response);
    response.on('timeout', (socket: Socket) => {
      // Before the answer begins, the client waits for us: it keeps its connection.
      if (response.headersSent) socket.destroy();
      else socket.setTimeout(server.timeout);
    });
    handler(request, response);
  };
  const server =
    tls.certFile === null ? createServer(OPTIONS, listener) : listenByTls(listener, tls, logger);
  server.on('connection', connections.add);
  // Node's own, which closing the server calls, would cut answers that are made and not read yet.
  server.closeIdleConnections = connections.closeIdle;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  server.setTimeout(STALLED_TIMEOUT_MS);
  // Thousands of small fields would take many times their bytes. One more than is allowed, so that
  // its refusal has all headers.
  server.maxHeadersCount = MAX_HEADER_FIELDS + 1;
  return server;
}

export type Listening = Awaited<ReturnType<typeof listenOnPort>>;

/**
 * Listens on one port with many sockets (`SO_REUSEPORT`), among which Linux distributes
 * connections; elsewhere with one.
 */
export async function listenOnPort(
  app: FastifyInstance,
  { host, port, isTls }: { host: string; port: number; isTls: boolean },
) {
  // `SO_REUSEPORT` would silently share the port with another process of this user; this probe
  // fails instead.
  if (port !== 0) {
    await using probe = createNetServer().listen({ host, port });
    await once(probe, 'listening');
  }
  const reusePort = process.platform === 'linux';
  const options = { host, port, reusePort };
  const url = await app.listen(options);
  const { server } = app;
  const address = server.address() as AddressInfo;
  const others = Array.from({ length: reusePort ? LISTENING_SOCKETS - 1 : 0 }, () =>
    createNetServer({ allowHalfOpen: !isTls, noDelay: true }, (socket) =>
      server.emit('connection', socket),
    ),
  );
  /** Accepts no more connections. Resolves when the last one has ended. */
  const close = async () => {
    await Promise.all(others.map((other) => other[Symbol.asyncDispose]()));
  };
  try {
    await Promise.all(
      others.map((other) =>
        once(other.listen({ host: address.address, port: address.port, reusePort }), 'listening'),
      ),
    );
  } catch (error) {
    await close();
    throw error;
  }
  return { url, close };
}

function listenByTls(handler: RequestListener, files: TlsFiles, logger: Logger): TlsServer {
  let material = readTlsFiles(files);
  const server = createTlsServer(
    { ...OPTIONS, ...material, handshakeTimeout: REQUEST_TIMEOUT_MS },
    handler,
  );
  const polling = startPeriodicTask(
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
      failed: (error: string) =>
        logger.warn({ error }, 'the certificate cannot be read: the previous one stays in use'),
    },
    CERTIFICATE_POLL_MS,
  );
  server.once('close', () => void polling.stop());
  return server;
}
