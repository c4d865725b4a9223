/**
 * Traces at a collector: from a publisher to its transaction, from a request to its reads, without
 * personal or secret data.
 */
import { randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { hashSecret } from '#shared/access/secrets.ts';
import { orderMessage } from '#test/events.ts';
import { type ApiClient, createApiClient, TOKEN_PATH } from '#test/api-client.ts';
import { eventually } from '#test/eventually.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import { type OtlpCollector, type ReceivedSpan, startOtlpCollector } from '#test/otlp-collector.ts';
import { opened } from '../security/forge.ts';
import { runProcess } from './admin/run-command.ts';
import { listening, type ServiceProcess, startService } from '#test/service-process.ts';
import { words } from '#test/words.ts';

const CUSTOMER = {
  name: 'Wilhelmina Unmistakable',
  document: '987.654.321-00',
  phone: '+55 62 91234-5678',
  email: 'wilhelmina@unmistakable.example',
  created_at: '2026-11-20T10:00:00Z',
};
const ORDER = {
  status: 'pending',
  order_type: 'delivery',
  total: '39.90',
  customer: { id: 'customer-7311', name: CUSTOMER.name, phone: CUSTOMER.phone },
  notes: 'the bell does not ring',
  created_at: '2026-11-20T10:00:00Z',
};
const SECRET = 'a-secret-that-is-nowhere-else';

const SERVER_KIND = 2;
const CLIENT_KIND = 3;
const CONSUMER_KIND = 5;

let collector: OtlpCollector;
let installation: Installation;
let projector: ServiceProcess;
let query: ServiceProcess;
let api: ApiClient;
let token: string;

beforeAll(async () => {
  collector = await startOtlpCollector();
  installation = await createInstallation({
    partitions: 1,
    settings: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: '20',
      // Only sampled parents are traced, and no background work.
      OTEL_TRACES_SAMPLER: 'parentbased_always_off',
      QUERY_TRUST_TRACEPARENT: 'true',
      SHUTDOWN_DELAY_MS: '0',
    },
  });
  projector = startService('projector', installation.env);
  query = startService('query', installation.env);
  const data = {
    secret_sha256: hashSecret(SECRET),
    scopes: ['store', 'crm', 'order'],
    status: 'active',
  };
  await installation.publishAccess([
    { entity: 'access_key', storeId: 'store-9001', subject: 'client-4242', sequence: 1, data },
  ]);
  await installation.publish([
    {
      entity: 'customer',
      storeId: 'store-9001',
      subject: 'customer-7311',
      sequence: 1,
      data: CUSTOMER,
    },
    { entity: 'order', storeId: 'store-9001', subject: 'order-5150', sequence: 1, data: ORDER },
  ]);
  api = createApiClient((await listening(query)).url);
  await eventually('there is a token', async () => {
    const answer = await api.askToken('client-4242', SECRET);
    token = (answer.json as { access_token?: string }).access_token ?? '';
    return token !== '';
  });
  await eventually('the order is there', async () => {
    const { status, json } = await api.get('/api/order/list', token);
    return status === 200 && (json as { count?: number }).count === 1;
  });
});
afterAll(async () => {
  for (const process of [query, projector]) process?.kill('SIGTERM');
  await Promise.all([query?.ended, projector?.ended]);
  await installation?.close();
  await collector?.close();
});

function newTrace() {
  const traceId = randomBytes(16).toString('hex');
  const spanId = randomBytes(8).toString('hex');
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-01` };
}

let sequence = 1_000;
function message(traceparent: string) {
  sequence += 1;
  const { headers, ...message } = orderMessage('order-5150', { storeId: 'store-9001', sequence });
  return { ...message, headers: { ...headers, traceparent } };
}

/** All descendants of a span. */
function descendants(span: ReceivedSpan): ReceivedSpan[] {
  return collector.children(span).flatMap((child) => [child, ...descendants(child)]);
}

describe('a slice of messages', () => {
  it('continues the trace of its publisher to the transaction and its commands', async () => {
    const { traceId, spanId, traceparent } = newTrace();
    const topic = changesTopic(installation.environment);
    await installation.send(topic, [message(traceparent)]);
    const slice = await collector.span(
      'the slice',
      (span) => span.traceId === traceId && span.kind === CONSUMER_KIND,
    );
    expect(slice).toMatchObject({
      parentSpanId: spanId,
      name: `process ${topic}`,
      service: 'store-data-projector',
      attributes: {
        'messaging.system': 'kafka',
        'messaging.destination.name': topic,
        'messaging.destination.partition.id': '0',
        'messaging.batch.message_count': 1,
        'store_data.generation': 'g1',
      },
    });
    const transaction = collector.children(slice).find(({ name }) => name === 'transaction');
    const commands = descendants(transaction as ReceivedSpan);
    expect(commands.map(({ attributes }) => attributes['db.operation.name'])).toEqual(
      expect.arrayContaining(['update', 'commitTransaction']),
    );
    expect(commands.every(({ kind, traceId: of }) => kind === CLIENT_KIND && of === traceId)).toBe(
      true,
    );
  });
});

it('the publish command continues the trace in its environment', async () => {
  const { traceId, spanId, traceparent } = newTrace();
  const value = `${message(traceparent).value}\n`;
  const env = { ...installation.env, TRACEPARENT: traceparent };
  const { code } = await runProcess(env, ['publish', '-'], { input: value });
  expect(code).toBe(0);
  const slice = await collector.span(
    'the slice',
    (span) => span.traceId === traceId && span.kind === CONSUMER_KIND,
  );
  expect(slice.parentSpanId).toBe(spanId);
});

describe('a request', () => {
  const serverSpan = (traceId: string) =>
    collector.span('the request', (span) => span.traceId === traceId && span.kind === SERVER_KIND);

  it('continues the trace of its caller to Redis and MongoDB', async () => {
    const { traceId, spanId, traceparent } = newTrace();
    const path = '/api/order/list?page_size=2&order_type=delivery';
    const answer = await api.get(path, token, { traceparent });
    expect(answer.status).toBe(200);
    const request = await serverSpan(traceId);
    expect(request).toMatchObject({
      parentSpanId: spanId,
      name: 'GET /api/order/list',
      service: 'store-data-query',
      attributes: {
        'http.request.method': 'GET',
        'http.route': '/api/order/list',
        'http.response.status_code': 200,
      },
    });
    expect(request.status.code ?? 0).toBe(0);
    const operations = descendants(request).map(({ attributes }) => ({
      system: attributes['db.system.name'],
      operation: attributes['db.operation.name'],
      collection: attributes['db.collection.name'],
    }));
    expect(operations).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ system: 'redis', operation: 'EVALSHA' }),
        { system: 'mongodb', operation: 'aggregate', collection: 'orders' },
      ]),
    );
  });

  it('with a body is traced to its end', async () => {
    const { traceId, traceparent } = newTrace();
    const authorization = `Basic ${Buffer.from(`client-4242:${SECRET}`).toString('base64')}`;
    const headers = {
      traceparent,
      authorization,
      'content-type': 'application/x-www-form-urlencoded',
    };
    const body = 'grant_type=client_credentials';
    const answer = await api.call(TOKEN_PATH, { method: 'POST', headers, body });
    expect(answer.status).toBe(200);
    const request = await serverSpan(traceId);
    expect(
      collector.children(request).map(({ attributes }) => attributes['db.system.name']),
    ).toContain('redis');
  });

  it('has the reason of its refusal, without words of the request', async () => {
    const { traceId, traceparent } = newTrace();
    await api.get('/api/order/list', 'no-token-of-ours', { traceparent });
    const { attributes, status } = await serverSpan(traceId);
    expect(attributes).toMatchObject({
      'http.response.status_code': 401,
      'store_data.refusal': 'token_invalid',
    });
    expect(status.code ?? 0).toBe(0);
  });

  it('has its trace id in the log if it is traced', async () => {
    const { traceId, traceparent } = newTrace();
    await api.get('/api/store/info/', token, { traceparent, 'x-request-id': 'traced' });
    await api.get('/api/store/info/', token, { 'x-request-id': 'not-traced' });
    const lineOf = (id: string) => query.logged(({ request_id: of }) => of === id);
    expect(await lineOf('traced')).toMatchObject({ trace_id: traceId });
    expect(await lineOf('not-traced')).not.toHaveProperty('trace_id');
  });

  it('is linked with reads that it shares with others', async () => {
    const traces = Array.from({ length: 8 }, newTrace);
    await Promise.all(
      traces.map(({ traceparent }) =>
        api.get('/api/order/details/?order_id=order-5150', token, { traceparent }),
      ),
    );
    const requests = await Promise.all(traces.map(({ traceId }) => serverSpan(traceId)));
    const reads = new Map(
      collector.spans
        .filter(({ name }) => name === 'shared read')
        .map((span) => [span.spanId, span]),
    );
    for (const request of requests) {
      const own = collector.children(request).filter(({ spanId }) => reads.has(spanId));
      const linked = request.links.flatMap(({ spanId }) => reads.get(spanId) ?? []);
      const read = [...own, ...linked][0];
      expect(read).toBeDefined();
      const commands = collector.children(read as ReceivedSpan).map(({ name }) => name);
      // The read may be the first on a new connection, after its `hello`.
      expect(commands.filter((name) => name !== 'ismaster')).toEqual(['aggregate orders']);
    }
  });
});

/**
 * Sends requests to a service with a new collector, and stops the service cleanly.
 * @returns the collector's spans.
 */
async function spansOf(
  settings: Record<string, string>,
  traceparents: string[],
  answer?: RequestListener,
): Promise<ReceivedSpan[]> {
  const own = await startOtlpCollector(answer);
  const service = startService('query', {
    ...installation.env,
    OTEL_EXPORTER_OTLP_ENDPOINT: own.url,
    ...settings,
  });
  const { url } = await listening(service);
  for (const traceparent of traceparents) {
    expect((await fetch(`${url}/health`, { headers: { traceparent } })).status).toBe(200);
  }
  if (settings['OTEL_BSP_SCHEDULE_DELAY'] !== undefined) expect(own.spans).toEqual([]);
  service.kill('SIGTERM');
  // A second signal, or ten seconds more, would change the exit code.
  expect(await service.ended).toEqual({ code: 0, signal: null });
  await own.close();
  return own.spans;
}

it('no span has personal or secret data, store ids or request parameters', async () => {
  const { traceId, traceparent } = newTrace();
  const { claims } = opened(token);
  const asked = words(
    '/api/customer/list?search=unmistakable /api/customer/list?search=91234',
    '/api/customer/order-list/?customer_id=customer-7311 /api/order/details/?order_id=order-5150',
    '/api/order/list?created_from=2026-11-19T01:02:03 /api/nowhere/of-a-secret?secret=also-this',
    '/api/order/list?status=not-a-status /api/order/changes',
  );
  const headers = {
    traceparent,
    tracestate: 'vendor=from-the-tracestate',
    baggage: 'user=from-the-baggage',
  };
  for (const path of asked)
    await api.get(path, token, { ...headers, 'x-request-id': 'own-request-id' });
  await api.get('/api/order/list', 'a-wrong-token', headers);
  await api.askToken('client-4242', 'a-wrong-secret');
  const topic = changesTopic(installation.environment);
  await installation.send(topic, [{ ...message(traceparent), value: '{"poison-of": "somebody"}' }]);
  await collector.span(
    'the poison',
    (span) => span.traceId === traceId && span.kind === CONSUMER_KIND,
  );
  await collector.span(
    'the last request',
    ({ attributes }) => attributes['http.response.status_code'] === 401,
  );
  // Times and ids of spans are digits, among which any number can be.
  const digits = /"(?:traceId|spanId|parentSpanId|\w*TimeUnixNano|timeUnixNano)":"[0-9a-f]+"/g;
  const sent = collector.bodies.join('\n').replaceAll(digits, '');
  const leaked = [
    ...Object.values(CUSTOMER).filter((value) => value !== CUSTOMER.created_at),
    ...words(
      'Wilhelmina Unmistakable unmistakable 91234 987654321 customer-7311 order-5150 store-9001 client-4242',
      'a-wrong-token a-wrong-secret 2026-11-19 of-a-secret also-this not-a-status own-request-id poison-of',
      'from-the-tracestate from-the-baggage',
    ),
    ORDER.notes,
    SECRET,
    token,
    String(claims['jti']),
  ].filter((text) => sent.includes(text));
  expect(leaked).toEqual([]);
  expect(claims).toHaveProperty('jti');
  expect(collector.spans.filter((span) => span.traceId === traceId).length).toBeGreaterThan(
    asked.length * 2,
  );
});

it('pending spans are sent before a process ends', async () => {
  const { traceId, traceparent } = newTrace();
  const spans = await spansOf({ OTEL_BSP_SCHEDULE_DELAY: '600000' }, [traceparent]);
  expect(spans.map(({ traceId: of }) => of)).toContain(traceId);
});

it('a silent collector delays neither answers nor the end of a process', async () => {
  const traceparents = Array.from({ length: 50 }, () => newTrace().traceparent);
  expect(await spansOf({}, traceparents, () => undefined)).toEqual([]);
});
