import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { readConfig } from '#shared/config.ts';
import { startPeriodicTask } from '#shared/periodic-task.ts';
import { activeSpan, MAX_LINKS, type Span, startTracing, traced, within } from '#shared/tracing.ts';
import { eventually } from '#test/eventually.ts';
import { times } from '#test/times.ts';
import { startOtlpCollector } from '#test/otlp-collector.ts';

const servers = { KAFKA_BROKERS: 'k:9092', MONGODB_URI: 'mongodb://m', REDIS_URL: 'redis://r' };

/** Tracing to a collector. @param envOf settings, by the collector's address. */
async function tracing(
  envOf: (url: string) => Record<string, string> = () => ({}),
  ...answer: Parameters<typeof startOtlpCollector>
) {
  const collector = await startOtlpCollector(...answer);
  const { url } = collector;
  const defaults = { OTEL_BSP_SCHEDULE_DELAY: '10', OTEL_EXPORTER_OTLP_ENDPOINT: `${url}/` };
  const lines: unknown[] = [];
  const logger = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line)) });
  const config = readConfig({ ...servers, ...defaults, ...envOf(url) });
  const started = await startTracing(config, 'test', logger);
  if (started === null) throw new Error('it is off');
  onTestFinished(async () => {
    await started.stop();
    await collector.close();
  });
  const begin = (traceparents: string[] = [], isRoot = false): Span | undefined =>
    started.begin({ name: 'work', kind: 'server', attributes: {}, traceparents, isRoot }) ??
    undefined;
  return { collector, lines, begin, sent: () => collector.span('it', () => true) };
}

const id = (number: number, length: number) => number.toString(16).padStart(length, '0');
const traceparent = (number: number, flags = '01') =>
  `00-${id(number, 32)}-${id(number, 16)}-${flags}`;

// A ratio sampler records the smallest ids first: those of strangers must have no effect.
it.each([
  ['always_on', '1', true, true, true],
  ['always_off', '1', false, false, false],
  ['traceidratio', '0.000001', true, true, false],
  ['parentbased_always_on', '1', true, false, true],
  ['parentbased_always_off', '1', true, false, false],
  ['parentbased_traceidratio', '0.000001', true, false, false],
  ['parentbased_traceidratio', '1', true, false, true],
])(
  '%s of %s records as the standard says, and requests of strangers as if they had no trace',
  async (OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG, ofSampled, ofUnsampled, ofNone) => {
    const { begin } = await tracing(() => ({ OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG }));
    const causes = [[traceparent(7)], [traceparent(7, '00')]];
    const spans = [...causes, []].map((cause) => begin(cause));
    const ofStrangers = causes.map((cause) => begin(cause, true));
    const isRecorded = (span: unknown) => span !== undefined;
    expect(spans.map(isRecorded)).toEqual([ofSampled, ofUnsampled, ofNone]);
    expect(ofStrangers.map(isRecorded)).toEqual([ofNone, ofNone]);
    for (const span of [...spans, ...ofStrangers]) span?.end();
  },
);

it.each([
  ['01', [id(1, 32)]],
  ['00', []],
])(
  'a request of a stranger continues no trace, and is linked to a recorded one: flags %s',
  async (flags, links) => {
    const { begin, sent } = await tracing();
    begin([traceparent(1, flags)], true)?.end();
    const span = await sent();
    expect(span.traceId).not.toBe(id(1, 32));
    expect(span.parentSpanId ?? '').toBe('');
    expect(span.links.map(({ traceId }) => traceId)).toEqual(links);
  },
);

it('a span with many causes continues the first recorded one, and links to others up to the maximum', async () => {
  const { begin, sent } = await tracing();
  const causes = times(100, (index) => traceparent(index + 10));
  const others = [
    '',
    'no trace',
    traceparent(1, '00'),
    `${traceparent(2)}-more`,
    `00-${id(0, 32)}-${id(0, 16)}-01`,
  ];
  begin([...others, ...causes])?.end();
  const span = await sent();
  expect(span).toMatchObject({ traceId: id(10, 32), parentSpanId: id(10, 16) });
  expect(span.links.map(({ traceId }) => traceId)).toEqual(
    causes.slice(1, MAX_LINKS + 1).map((cause) => cause.slice(3, 35)),
  );
});

it('detached work is not part of a span, nor is work after its end', async () => {
  const { begin } = await tracing();
  const span = begin();
  const seen: unknown[] = [];
  const task = within(span, () => {
    const work = {
      run: async () => void seen.push(activeSpan()),
      everyMs: 1,
      failed: () => undefined,
    };
    return startPeriodicTask(work);
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
  const { collector, begin, sent } = await tracing();
  const failing = traced(begin(), () => Promise.reject(new RangeError('of a person')));
  await expect(failing).rejects.toThrow('of a person');
  expect(await sent()).toMatchObject({
    status: { code: 2 },
    attributes: { 'error.type': 'RangeError' },
  });
  expect(collector.bodies.join('')).not.toContain('of a person');
});

it('a refusing collector causes one log line for any number of lost spans', async () => {
  let requests = 0;
  const { begin, lines } = await tracing(
    () => ({ OTEL_BSP_MAX_QUEUE_SIZE: '3' }),
    (request, response) => {
      requests += 1;
      request.resume();
      response.writeHead(400).end();
    },
  );
  await eventually('several batches are lost', () => {
    for (let span = 0; span < 10; span += 1) begin()?.end();
    return requests > 3;
  });
  expect(lines).toMatchObject([{ level: 40, msg: 'traces are lost' }]);
});

it('spans name their service, with attributes of the standard’s variables', async () => {
  const headers: unknown[] = [];
  const { collector, begin, sent } = await tracing((url) => ({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/v1/traces`,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=of%20ours',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=staging,service.name=theirs',
    OTEL_SERVICE_NAME: 'ours',
  }));
  collector.server.on('request', (request) => headers.push(request.headers['x-key']));
  begin()?.end();
  expect(await sent()).toMatchObject({ service: 'ours' });
  expect(collector.bodies.join('')).toContain('staging');
  expect(collector.bodies.join('')).not.toContain(process.execPath);
  expect(headers).toEqual(['of ours']);
});
