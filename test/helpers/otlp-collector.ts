/** A trace collector (OTLP over HTTP) that keeps all spans. */
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { eventually } from './eventually.ts';

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
  status: { code?: number };
  service: unknown;
}

export interface OtlpCollector {
  server: Server;
  url: string;
  spans: ReceivedSpan[];
  /** The received bodies. */
  bodies: string[];
  /** Resolves with the first past or future span that `check` accepts. */
  span: (what: string, check: (span: ReceivedSpan) => boolean) => Promise<ReceivedSpan>;
  children: (of: ReceivedSpan) => ReceivedSpan[];
  close: () => Promise<void>;
}

type Attributes = { key: string; value: Record<string, unknown> }[];

interface Sent {
  resourceSpans: {
    resource: { attributes: Attributes };
    scopeSpans: { spans: (Omit<ReceivedSpan, 'attributes'> & { attributes: Attributes })[] }[];
  }[];
}

/** Starts a collector. @param answer replaces the normal answer, to simulate failures. */
export async function startOtlpCollector(answer?: RequestListener): Promise<OtlpCollector> {
  const spans: ReceivedSpan[] = [];
  const bodies: string[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    bodies.push(body);
    if (request.url === '/v1/traces') spans.push(...spansIn(JSON.parse(body) as Sent));
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  };
  const server = createServer(answer ?? ((request, response) => void take(request, response)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    server,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    bodies,
    async span(what, check) {
      let found: ReceivedSpan | undefined;
      await eventually(`there is a span: ${what}`, () => (found = spans.find(check)) !== undefined);
      return found as ReceivedSpan;
    },
    children: ({ traceId, spanId }) =>
      spans.filter((span) => span.traceId === traceId && span.parentSpanId === spanId),
    async close() {
      server.closeAllConnections();
      await once(server.close(), 'close');
    },
  };
}

function spansIn({ resourceSpans }: Sent): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) =>
        Object.assign({}, span, {
          links: span.links ?? [],
          attributes: read(span.attributes),
          service: read(resource.attributes)['service.name'],
        }),
      ),
    ),
  );
}

function read(attributes: Attributes): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
