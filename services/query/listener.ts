/** The HTTP server beneath the app: its time limits, and HTTPS where there is a certificate. */
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
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

const OPTIONS: ServerOptions = {
  headersTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16_384,
  // Checked by a hook of ours (plugins/unambiguous.ts), whose answer has a body.
  requireHostHeader: false,
};

export interface ListenerOptions {
  tls: TlsFiles;
  /** Whether each connection shall end with its next answer. */
  isEnding: () => boolean;
  logger: Logger;
}

/** Makes the server. @throws {StoreDataError} `config_invalid` when the certificate or its key cannot be read. */
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
    failed: (error: string) =>
      logger.warn({ error }, 'the certificate cannot be read again, the former one goes on'),
  };
  const looking = new PeriodicTask(work, CERTIFICATE_LOOK_MS);
  server.once('close', () => void looking.stop());
  return server;
}
