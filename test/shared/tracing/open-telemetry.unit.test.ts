import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, expect, it } from 'vitest';
import { readConfig } from '#shared/config.ts';
import { PeriodicTask } from '#shared/periodic-task.ts';
import {
  activeSpan,
  MAX_LINKS,
  type Span,
  startTracing,
  traced,
  type Tracing,
  within,
} from '#shared/tracing.ts';
import { eventually } from '#test/eventually.ts';
import { type OtlpCollector, startOtlpCollector } from '#test/otlp-collector.ts';

const servers = { KAFKA_BROKERS: 'k:9092', MONGODB_URI: 'mongodb://m', REDIS_URL: 'redis://r' };

const open: { stop?: () => Promise<void>; close?: () => Promise<void> }[] = [];
afterEach(async () => {
  for (const { stop, close } of open.splice(0)) {
    await stop?.();
    await close?.();
  }
});

async function collecting(
  ...answer: Parameters<typeof startOtlpCollector>
): Promise<OtlpCollector> {
  const collector = await startOtlpCollector(...answer);
  open.push({ close: collector.close });
  return collector;
}

async function tracing(env: Record<string, string>, lines: unknown[] = []): Promise<Tracing> {
  const config = readConfig({ ...servers, OTEL_BSP_SCHEDULE_DELAY: '10', ...env });
  const logger = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line)) });
  const started = await startTracing(config, 'test', logger);
  if (started === null) throw new Error('it is off');
  open.unshift({ stop: () => started.stop() });
  return started;
}

const id = (number: number, length: number) => number.toString(16).padStart(length, '0');
const traceparent = (number: number, flags = '01') =>
  `00-${id(number, 32)}-${id(number, 16)}-${flags}`;

function begin(from: Tracing, traceparents: string[] = [], name = 'work'): Span | null {
  return from.begin({ name, kind: 'server', attributes: {}, traceparents });
}

it.each([
  ['always_on', '1', true, true, true],
  ['always_off', '1', false, false, false],
  ['traceidratio', '0', false, false, false],
  ['parentbased_always_on', '1', true, false, true],
  ['parentbased_always_off', '1', true, false, false],
  ['parentbased_traceidratio', '0', true, false, false],
  ['parentbased_traceidratio', '1', true, false, true],
])(
  '%s of %s records as the standard says',
  async (sampler, ratio, ofSampled, ofUnsampled, ofNone) => {
    const { url } = await collecting();
    const env = {
      OTEL_TRACES_SAMPLER: sampler,
      OTEL_TRACES_SAMPLER_ARG: ratio,
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
    };
    const started = await tracing(env);
    const spans = [[traceparent(7)], [traceparent(7, '00')], []].map((causes) =>
      begin(started, causes),
    );
    expect(spans.map((span) => span !== null)).toEqual([ofSampled, ofUnsampled, ofNone]);
    for (const span of spans) span?.end();
  },
);

it.each([
  ['always_on', '1', true],
  ['parentbased_always_on', '1', true],
  ['parentbased_always_off', '1', false],
  // A ratio sampler records the smallest ids first: ids of strangers must have no effect.
  ['traceidratio', '0.000001', false],
  ['parentbased_traceidratio', '0.000001', false],
])(
  '%s of %s decides about requests of strangers as if they had no trace',
  async (sampler, ratio, isRecorded) => {
    const collector = await collecting();
    const started = await tracing({
      OTEL_TRACES_SAMPLER: sampler,
      OTEL_TRACES_SAMPLER_ARG: ratio,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    });
    const spans = ['01', '00'].map((flags) =>
      started.begin({
        name: flags,
        kind: 'server',
        attributes: {},
        traceparents: [traceparent(1, flags)],
        isRoot: true,
      }),
    );
    expect(spans.map((span) => span !== null)).toEqual([isRecorded, isRecorded]);
    for (const span of spans) span?.end();
    if (!isRecorded) return;
    for (const [flags, links] of [
      ['01', [id(1, 32)]],
      ['00', []],
    ] as const) {
      const span = await collector.span(flags, ({ name }) => name === flags);
      expect(span.traceId).not.toBe(id(1, 32));
      expect(span.parentSpanId ?? '').toBe('');
      expect(span.links.map(({ traceId }) => traceId)).toEqual(links);
    }
  },
);

it('a span with many causes continues the first recorded one, and links to others up to the maximum', async () => {
  const collector = await collecting();
  const started = await tracing({ OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/` });
  const causes = Array.from({ length: 100 }, (_, index) => traceparent(index + 10));
  const others = [
    '',
    'no trace',
    traceparent(1, '00'),
    `${traceparent(2)}-more`,
    `00-${id(0, 32)}-${id(0, 16)}-01`,
  ];
  begin(started, [...others, ...causes])?.end();
  const span = await collector.span('it', () => true);
  expect(span).toMatchObject({ traceId: id(10, 32), parentSpanId: id(10, 16) });
  expect(span.links.map(({ traceId }) => traceId)).toEqual(
    causes.slice(1, MAX_LINKS + 1).map((cause) => cause.slice(3, 35)),
  );
});

it('detached work is not part of a span, nor is work after its end', async () => {
  const { url } = await collecting();
  const started = await tracing({ OTEL_EXPORTER_OTLP_ENDPOINT: url });
  const span = begin(started) ?? undefined;
  const seen: unknown[] = [];
  const task = within(span, () => {
    const work = {
      run: async () => void seen.push(activeSpan()),
      everyMs: 1,
      failed: () => undefined,
    };
    return new PeriodicTask(work);
  });
  const late = within(span, async () => {
    await turn();
    await turn();
    return activeSpan();
  });
  span?.end();
  expect(await late).toBeUndefined();
  await eventually('it runs again', () => seen.length > 2);
  await task.stop();
  expect(seen.every((one) => one === undefined)).toBe(true);
});

it('only the type of an error is sent', async () => {
  const collector = await collecting();
  const started = await tracing({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  const failing = traced(begin(started) ?? undefined, () =>
    Promise.reject(new RangeError('of a person')),
  );
  await expect(failing).rejects.toThrow('of a person');
  const span = await collector.span('it', () => true);
  expect(span).toMatchObject({ status: { code: 2 }, attributes: { 'error.type': 'RangeError' } });
  expect(collector.bodies.join('')).not.toContain('of a person');
});

it('a refusing collector causes one log line for any number of lost spans', async () => {
  let requests = 0;
  const collector = await collecting((request, response) => {
    requests += 1;
    request.resume();
    response.writeHead(400).end();
  });
  const lines: unknown[] = [];
  const started = await tracing(
    { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_MAX_QUEUE_SIZE: '3' },
    lines,
  );
  await eventually('several batches are lost', () => {
    for (let span = 0; span < 10; span += 1) begin(started)?.end();
    return requests > 3;
  });
  expect(lines).toMatchObject([{ level: 40, msg: 'traces are lost' }]);
});

it('spans name their service, with attributes of the standard’s variables', async () => {
  const headers: unknown[] = [];
  const collector = await collecting();
  collector.server.on('request', (request) => headers.push(request.headers['x-key']));
  const started = await tracing({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=of%20ours',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=staging,service.name=theirs',
    OTEL_SERVICE_NAME: 'ours',
  });
  begin(started)?.end();
  expect(await collector.span('it', () => true)).toMatchObject({ service: 'ours' });
  expect(collector.bodies.join('')).toContain('staging');
  expect(collector.bodies.join('')).not.toContain(process.execPath);
  expect(headers).toEqual(['of ours']);
});
