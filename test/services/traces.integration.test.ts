/**
 * Traces at a collector: from a publisher to its transaction, from a request to its reads, without
 * personal or secret data.
 */
import { randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { changesTopic, encodeEvent } from '#shared/events/topics.ts';
import { hashSecret } from '#shared/access/secrets.ts';
import { MINIMAL } from '#test/changes.ts';
import { keyEvent, orderEvent } from '#test/events.ts';
import { useMade } from '#test/hooks.ts';
import { type ApiClient, createApiClient, type ListBody, TOKEN_PATH } from '#test/api-client.ts';
import { eventually } from '#test/eventually.ts';
import { createInstallation } from '#test/installation.ts';
import { type ReceivedSpan, startOtlpCollector } from '#test/otlp-collector.ts';
import { opened } from '../security/forge.ts';
import { runProcess } from './admin/run-command.ts';
import { killAll, listening, type ServiceProcess, startService } from '#test/service-process.ts';
import { words } from '#test/words.ts';

const PERSON = {
  name: 'Wilhelmina Unmistakable',
  document: '987.654.321-00',
  phone: '+55 62 91234-5678',
  email: 'wilhelmina@unmistakable.example',
};
const NOTES = 'the bell does not ring';
const SECRET = 'a-secret-that-is-nowhere-else';

const SERVER_KIND = 2;
const CLIENT_KIND = 3;
const CONSUMER_KIND = 5;

const collector = useMade(() => startOtlpCollector());
const installation = useMade(() =>
  createInstallation({
    partitions: 1,
    settings: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: '20',
      // Only sampled parents are traced, and no background work.
      OTEL_TRACES_SAMPLER: 'parentbased_always_off',
      QUERY_TRUST_TRACEPARENT: 'true',
      SHUTDOWN_DELAY_MS: '0',
    },
  }),
);
const services: ServiceProcess[] = [];
let query: ServiceProcess;
let api: ApiClient;
let token: string;

let sequence = 1_000;
const order = () => {
  sequence += 1;
  const customer = { id: 'customer-7311', name: PERSON.name, phone: PERSON.phone };
  const data = { customer, notes: NOTES };
  return {
    ...orderEvent('order-5150', { storeId: 'store-9001', sequence, data }),
    source: '/test',
  };
};
function message(traceparent: string) {
  const { headers, ...rest } = encodeEvent(order());
  return { ...rest, headers: { ...headers, traceparent } };
}

beforeAll(async () => {
  query = startService('query', installation.env);
  services.push(query, startService('projector', installation.env));
  const storeId = 'store-9001';
  const granted = { secret_sha256: hashSecret(SECRET), scopes: ['store', 'crm', 'order'] };
  await installation.publishAccess([{ ...keyEvent('client-4242', 1, granted), storeId }]);
  const data = { ...MINIMAL.customer, ...PERSON };
  await installation.publish([
    { entity: 'customer', storeId, subject: 'customer-7311', sequence, data },
    order(),
  ]);
  api = createApiClient((await listening(query)).url);
  await eventually('there is a token', async () => {
    const { json } = await api.askToken('client-4242', SECRET);
    ({ access_token: token = '' } = json as { access_token?: string });
    return token !== '';
  });
  await eventually('the order is there', async () => {
    const { status, json } = await api.get('/api/order/list', token);
    return status === 200 && (json as ListBody).count === 1;
  });
});
afterAll(() => killAll(services));

function newTrace() {
  const traceId = randomBytes(16).toString('hex');
  const spanId = randomBytes(8).toString('hex');
  const spanOf = (kind: number) =>
    collector.span(`of kind ${kind}`, (span) => span.traceId === traceId && span.kind === kind);
  return { traceId, spanId, spanOf, traceparent: `00-${traceId}-${spanId}-01` };
}

/** All descendants of a span. */
function descendants(span: ReceivedSpan): ReceivedSpan[] {
  return collector.children(span).flatMap((child) => [child, ...descendants(child)]);
}

describe('a slice of messages', () => {
  it('continues the trace of its publisher to the transaction and its commands', async () => {
    const { traceId, spanId, spanOf, traceparent } = newTrace();
    const topic = changesTopic(installation.environment);
    await installation.send(topic, [message(traceparent)]);
    const slice = await spanOf(CONSUMER_KIND);
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
  const { spanId, spanOf, traceparent } = newTrace();
  const input = encodeEvent(order()).value;
  const env = { ...installation.env, TRACEPARENT: traceparent };
  expect(await runProcess(env, 'publish -', { input })).toMatchObject({ code: 0 });
  expect((await spanOf(CONSUMER_KIND)).parentSpanId).toBe(spanId);
});

describe('a request', () => {
  it('continues the trace of its caller to Redis and MongoDB', async () => {
    const { spanId, spanOf, traceparent } = newTrace();
    await api.get('/api/order/list?page_size=2&order_type=delivery', token, { traceparent });
    const request = await spanOf(SERVER_KIND);
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
    const { spanOf, traceparent } = newTrace();
    const authorization = `Basic ${Buffer.from(`client-4242:${SECRET}`).toString('base64')}`;
    const type = 'application/x-www-form-urlencoded';
    const headers = { traceparent, authorization, 'content-type': type };
    const body = 'grant_type=client_credentials';
    await api.call(TOKEN_PATH, { method: 'POST', headers, body });
    const systems = collector
      .children(await spanOf(SERVER_KIND))
      .map(({ attributes }) => attributes['db.system.name']);
    expect(systems).toContain('redis');
  });

  it('has the reason of its refusal, without words of the request', async () => {
    const { spanOf, traceparent } = newTrace();
    await api.get('/api/order/list', 'no-token-of-ours', { traceparent });
    const { attributes, status } = await spanOf(SERVER_KIND);
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
    for (const { spanOf } of traces) {
      const { spanId: own, links } = await spanOf(SERVER_KIND);
      const read = collector.spans.find(
        ({ name, spanId, parentSpanId }) =>
          name === 'shared read' &&
          (parentSpanId === own || links.some((link) => link.spanId === spanId)),
      );
      const commands = collector.children(read as ReceivedSpan).map(({ name }) => name);
      // The read may be the first on a new connection, after its `hello`.
      expect(commands.filter((name) => name !== 'ismaster')).toEqual(['aggregate orders']);
    }
  });
});

it('no span has personal or secret data, store ids or request parameters', async () => {
  const { traceId, spanOf, traceparent } = newTrace();
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
  const poison = { ...message(traceparent), value: '{"poison-of": "somebody"}' };
  await installation.send(changesTopic(installation.environment), [poison]);
  await spanOf(CONSUMER_KIND);
  await collector.span(
    'the last request',
    (span) => span.traceId === traceId && span.attributes['http.response.status_code'] === 401,
  );
  // Times and ids of spans are digits, among which any number can be.
  const digits = /"(?:traceId|spanId|parentSpanId|\w*TimeUnixNano|timeUnixNano)":"[0-9a-f]+"/g;
  const sent = collector.bodies.join('\n').replaceAll(digits, '');
  const leaked = [
    ...words(
      'Wilhelmina Unmistakable unmistakable 987.654 987654321 91234 customer-7311 order-5150',
      'store-9001 client-4242 a-wrong-token a-wrong-secret 2026-11-19 of-a-secret also-this',
      'not-a-status own-request-id poison-of from-the-tracestate from-the-baggage',
    ),
    NOTES,
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

it.each<[what: string, settings: object, answer: RequestListener | undefined, sent: boolean]>([
  ['that wait are sent before it ends', { OTEL_BSP_SCHEDULE_DELAY: '600000' }, undefined, true],
  ['delay neither answers nor its end if the collector is silent', {}, () => undefined, false],
])('the spans of a process %s', async (_what, settings, answer, sent) => {
  const own = await startOtlpCollector(answer);
  const env = { ...installation.env, OTEL_EXPORTER_OTLP_ENDPOINT: own.url, ...settings };
  const service = startService('query', env);
  const { url } = await listening(service);
  for (let request = 0; request < 50; request += 1) {
    const { traceparent } = newTrace();
    expect((await fetch(`${url}/health`, { headers: { traceparent } })).status).toBe(200);
  }
  expect(own.spans).toEqual([]);
  service.kill('SIGTERM');
  // A second signal, or ten seconds more, would change the exit code.
  expect(await service.ended).toEqual({ code: 0, signal: null });
  await own.close();
  expect(own.spans.length > 0).toBe(sent);
});
