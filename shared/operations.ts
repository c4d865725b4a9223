/**
 * The operations port: `/live`, `/ready`, `/metrics` and `/version` of a process, on a server of its own, so that none of
 * them is ever reachable through the port that serves clients.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import type { Logger } from './logging.ts';
import { RELEASE } from './release.ts';
import { REQUEST_ID_HEADER, requestIdOf } from './request-id.ts';

export interface OperationsOptions {
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** Whether the process still works; false has it restarted. It must not look at a server: those come back by themselves. */
  live: () => boolean | Promise<boolean>;
  /**
   * Why the process cannot take work, in words for operators; `null` where it can. A server that is away is no reason: it would take
   * away every instance at once.
   */
  unreadyReason: () => string | null | Promise<string | null>;
  registry: Registry;
  logger: Logger;
}

export interface Operations {
  /** With the port that was taken. */
  url: string;
  close: () => Promise<void>;
}

const JSON_TYPE = 'application/json; charset=utf-8';

interface Answer {
  status: number;
  contentType: string;
  body: string;
  headers?: Record<string, string>;
}

/** Starts the operations server; resolves when it listens. */
export async function startOperations(options: OperationsOptions): Promise<Operations> {
  const { host, port, logger } = options;
  const server = createServer({ requestTimeout: 5_000, headersTimeout: 5_000 }, (request, response) => {
    response.setHeader(REQUEST_ID_HEADER, requestIdOf(request.headers[REQUEST_ID_HEADER]));
    answer(request, options).then(
      (found) => send(request, response, found),
      (error: unknown) => {
        logger.error({ err: error, path: pathOf(request) }, 'the operations server failed to answer');
        send(request, response, failure(500, 'internal_error', 'the request failed'));
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on('error', (error) => logger.error({ err: error }, 'the operations server failed'));
  const url = urlOf(server.address(), host);
  logger.info({ url }, 'operations server listens');
  return {
    url,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '').split('?', 1)[0] ?? '';
}

async function answer(request: IncomingMessage, options: OperationsOptions): Promise<Answer> {
  const answers: Record<string, () => Promise<Answer>> = {
    '/live': async () => ((await options.live()) ? OK : unavailable()),
    '/ready': async () => {
      const reason = await options.unreadyReason();
      return reason === null ? OK : unavailable({ reason });
    },
    '/version': async () => ({
      status: 200,
      contentType: JSON_TYPE,
      body: JSON.stringify({
        version: RELEASE.version,
        projection_version: RELEASE.projectionVersion,
        node: RELEASE.node,
      }),
    }),
    '/metrics': async () => ({
      status: 200,
      contentType: options.registry.contentType,
      body: await options.registry.metrics(),
    }),
  };
  const path = pathOf(request);
  const found = Object.hasOwn(answers, path) ? answers[path] : undefined;
  if (found === undefined) return failure(404, 'not_found', 'there is nothing at this path');
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return { ...failure(405, 'method_not_allowed', 'allowed: GET, HEAD'), headers: { allow: 'GET, HEAD' } };
  }
  return found();
}

const OK: Answer = { status: 200, contentType: JSON_TYPE, body: JSON.stringify({ status: 'ok' }) };

function unavailable(details: { reason?: string } = {}): Answer {
  return {
    status: 503,
    contentType: JSON_TYPE,
    body: JSON.stringify({ status: 'unavailable', ...details }),
  };
}

function failure(status: number, code: string, detail: string): Answer {
  return { status, contentType: JSON_TYPE, body: JSON.stringify({ code, detail }) };
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, contentType, body, headers }: Answer,
) {
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

function urlOf(address: ReturnType<ReturnType<typeof createServer>['address']>, host: string): string {
  if (address === null || typeof address === 'string') return `http://${host}`;
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${name}:${address.port}`;
}
