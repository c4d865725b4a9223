/**
 * The operations port, a separate server, so that clients cannot reach it through their port; and
 * the metrics of every process.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { RELEASE } from './read-models/generation.ts';
import type { Logger } from './logging.ts';

export const REQUEST_ID_HEADER = 'x-request-id';

const ACCEPTABLE = /^[A-Za-z0-9._-]{1,128}$/;

/** The id of a request whose `X-Request-Id` header is `given` (rule R7.8). */
export function requestIdOf(given: string | string[] | undefined): string {
  return typeof given === 'string' && ACCEPTABLE.test(given) ? given : randomUUID();
}

/** The longest that a timer can wait. */
const NEVER_MS = 2 ** 31 - 1;

/** Measured by a timer a hundred times a second, which is most of the cost of an idle process. */
const LAGS = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map(
  (figure) => `nodejs_eventloop_lag_${figure}_seconds`,
);

export function createRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NEVER_MS });
  for (const lag of LAGS) registry.removeSingleMetric(lag);
  const busy: Counter = new Counter({
    name: 'store_data_event_loop_busy_seconds_total',
    help: 'Seconds in which the event loop was busy; if it always is, the process cannot keep up',
    registers: [],
    collect() {
      busy.reset();
      busy.inc(performance.eventLoopUtilization().active / 1_000);
    },
  });
  registry.registerMetric(busy);
  new Gauge({
    name: 'store_data_build_info',
    help: '1, with the release of this process',
    labelNames: ['version', 'projection_version', 'node'],
    registers: [registry],
  }).set(
    {
      version: RELEASE.version,
      projection_version: String(RELEASE.projectionVersion),
      node: RELEASE.node,
    },
    1,
  );
  return registry;
}

export function metricFactory(registry: Registry) {
  const registers = [registry];
  return {
    counter: <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
      new Counter<L>({ name, help, labelNames, registers }),
    gauge: <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
      new Gauge<L>({ name, help, labelNames, registers }),
    histogram: <L extends string>(
      name: string,
      help: string,
      buckets: number[],
      labelNames: readonly L[] = [],
    ) => new Histogram<L>({ name, help, labelNames, buckets, registers }),
  };
}

interface OperationsOptions {
  host: string;
  port: number;
  /**
   * Whether the process still works; otherwise it is restarted. It must not depend on other
   * servers, which recover by themselves.
   */
  live: () => boolean | Promise<boolean>;
  /** For operators. An unavailable server is not a reason: it would remove every instance at once. */
  unreadyReason: () => string | null | Promise<string | null>;
  registry: Registry;
  logger: Logger;
}

export type Operations = Awaited<ReturnType<typeof startOperations>>;

export async function startOperations(options: OperationsOptions) {
  const { host, port, logger } = options;
  const server = createServer(
    { requestTimeout: 5_000, headersTimeout: 5_000 },
    (request, response) => {
      response.setHeader(REQUEST_ID_HEADER, requestIdOf(request.headers[REQUEST_ID_HEADER]));
      answer(request, options).then(
        (found) => send(request, response, found),
        (error: unknown) => {
          logger.error(
            { err: error, path: pathOf(request) },
            'the operations server failed to answer',
          );
          send(request, response, [500, { code: 'internal_error', detail: 'the request failed' }]);
        },
      );
    },
  );
  await once(server.listen(port, host), 'listening');
  server.on('error', (error) => logger.error({ err: error }, 'the operations server failed'));
  const url = urlOf(server.address(), host);
  logger.info({ url }, 'operations server listens');
  return {
    url,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '').split('?', 1)[0] ?? '';
}

type Answer = [status: number, body: object | string, headers?: Record<string, string>];

const OK: Answer = [200, { status: 'ok' }];
const PATHS = new Set(['/live', '/ready', '/version', '/metrics']);

async function answer(
  request: IncomingMessage,
  { live, unreadyReason, registry }: OperationsOptions,
): Promise<Answer> {
  const path = pathOf(request);
  if (!PATHS.has(path))
    return [404, { code: 'not_found', detail: 'there is nothing at this path' }];
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return [
      405,
      { code: 'method_not_allowed', detail: 'allowed: GET, HEAD' },
      { allow: 'GET, HEAD' },
    ];
  }
  if (path === '/live') return (await live()) ? OK : [503, { status: 'unavailable' }];
  if (path === '/ready') {
    const reason = await unreadyReason();
    return reason === null ? OK : [503, { status: 'unavailable', reason }];
  }
  if (path === '/metrics')
    return [200, await registry.metrics(), { 'content-type': registry.contentType }];
  const { version, projectionVersion: projection_version, node } = RELEASE;
  return [200, { version, projection_version, node }];
}

function send(request: IncomingMessage, response: ServerResponse, [status, body, headers]: Answer) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(request.method === 'HEAD' ? undefined : text);
}

function urlOf(
  address: ReturnType<ReturnType<typeof createServer>['address']>,
  host: string,
): string {
  if (address === null || typeof address === 'string') return `http://${host}`;
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${name}:${address.port}`;
}
