/**
 * Makes spans with OpenTelemetry and sends them by OTLP over HTTP from a bounded queue. Loaded only
 * with a collector.
 */
import { hostname } from 'node:os';
import {
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  type Span as OtelSpan,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from '@opentelemetry/api';
import {
  parseKeyPairsIntoRecord,
  parseTraceParent,
  setGlobalErrorHandler,
} from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Config } from '../config.ts';
import { describeError } from '../errors.ts';
import { type Logger, repeatedLines } from '../logging.ts';
import { RELEASE } from '../read-models/generation.ts';
import { withTimeLimit } from '../waiting.ts';
import { type Kind, MAX_LINKS, type Span, type Tracing, activeSpan, traced } from '../tracing.ts';
import { createRequire } from 'node:module';

const STOP_MS = 1_000;
const SENT_TOGETHER = 512;

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
} as const satisfies Record<Kind, SpanKind>;

export function createOpenTelemetry(
  settings: Config['tracing'],
  service: string,
  logger: Logger,
): Tracing {
  logFailures(logger);
  const exporter = new OTLPTraceExporter({
    url: urlOf(settings),
    headers: parseKeyPairsIntoRecord(settings.headers),
  });
  const provider = new TracerProvider({
    resource: defaultResource().merge(
      resourceFromAttributes({
        'service.name': `store-data-${service}`,
        'service.version': RELEASE.version,
        'service.instance.id': `${hostname()}/${process.pid}`,
        ...parseKeyPairsIntoRecord(settings.resource),
        ...(settings.serviceName !== null && { 'service.name': settings.serviceName }),
      }),
    ),
    sampler: samplerOf(settings),
    spanLimits: { linkCountLimit: MAX_LINKS },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        scheduledDelayMillis: settings.sendAfterMs,
        maxQueueSize: settings.queuedSpans,
        maxExportBatchSize: Math.min(SENT_TOGETHER, settings.queuedSpans),
      }),
    ],
  });
  const tracer = provider.getTracer('store-data', RELEASE.version);
  traceCommands();

  return {
    begin({ name, kind, attributes, traceparents, isRoot = false, sinceMs = 0 }) {
      const causes = traceparents.flatMap((header) => parseTraceParent(header) ?? []);
      const parent = isRoot ? undefined : (causes.find(isSampled) ?? causes[0]);
      const links = causes
        .filter((cause) => cause !== parent && isSampled(cause))
        .slice(0, MAX_LINKS)
        .map((context) => ({ context }));
      const span = tracer.startSpan(
        name,
        {
          kind: KINDS[kind],
          attributes,
          links,
          ...(sinceMs > 0 && { startTime: performance.now() - sinceMs }),
        },
        parent === undefined
          ? ROOT_CONTEXT
          : trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }),
      );
      return span.isRecording() ? recordedSpan(tracer, span) : null;
    },

    async stop() {
      const late = () => new Error('the collector does not answer');
      await withTimeLimit(STOP_MS, late, () => provider.shutdown()).catch(() => undefined);
    },
  };
}

function recordedSpan(tracer: Tracer, span: OtelSpan): Span {
  const within = trace.setSpan(ROOT_CONTEXT, span);
  const isEnded = () => !span.isRecording();
  return {
    context: span.spanContext(),
    get isEnded() {
      return isEnded();
    },
    child: (name, kind, attributes = {}) =>
      recordedSpan(tracer, tracer.startSpan(name, { kind: KINDS[kind], attributes }, within)),
    link({ context }) {
      if (!isEnded()) span.addLink({ context });
    },
    set: (attributes) => void span.setAttributes(attributes),
    end(failure) {
      if (isEnded()) return;
      if (failure !== undefined) {
        span.setAttribute('error.type', failure).setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
    },
  };
}

function isSampled({ traceFlags }: SpanContext): boolean {
  return (traceFlags & TraceFlags.SAMPLED) !== 0;
}

/** By the standard: the address for traces as it is, the common one with a path behind it. */
function urlOf({ endpoint, tracesEndpoint }: Config['tracing']): string {
  return tracesEndpoint ?? `${endpoint?.replace(/\/$/, '')}/v1/traces`;
}

function samplerOf({ sampler, samplerArg }: Config['tracing']): Sampler {
  let root: Sampler = new TraceIdRatioBasedSampler(Number(samplerArg));
  if (sampler.endsWith('always_on')) root = new AlwaysOnSampler();
  if (sampler.endsWith('always_off')) root = new AlwaysOffSampler();
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}

/** Logs lost spans once a minute: they do not affect answers. */
function logFailures(logger: Logger): void {
  const leftOutOf = repeatedLines();
  const report = (error: string) => {
    const leftOut = leftOutOf('traces');
    if (leftOut !== null) logger.warn({ error, left_out: leftOut || undefined }, 'traces are lost');
  };
  const log = { error: report, warn: report, info: nothing, debug: nothing, verbose: nothing };
  diag.setLogger(log, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  setGlobalErrorHandler((error) =>
    report(typeof error === 'string' ? error : describeError(error)),
  );
}

function nothing(): void {}

// A span for each command to MongoDB within another span. The driver's monitoring would decode
// every reply, traced or not, so its connections are wrapped. Its version is pinned for that.

type Command = (
  this: unknown,
  namespace: { db: string },
  command: Record<string, unknown>,
  ...others: unknown[]
) => Promise<unknown>;

let isWatched = false;

function traceCommands(): void {
  if (isWatched) return;
  isWatched = true;
  const driver: unknown = createRequire(import.meta.url)('mongodb/lib/cmap/connection');
  const { prototype } = (driver as { Connection: { prototype: { command: Command } } }).Connection;
  const { command: send } = prototype;
  prototype.command = function (namespace, command, ...others) {
    const parent = activeSpan();
    if (parent === undefined) return send.call(this, namespace, command, ...others);
    const [name = 'none', on] = Object.entries(command)[0] ?? [];
    // Not the command itself: it holds stored values. In `getMore` the collection is another field.
    const { collection = on } = command;
    const target = typeof collection === 'string' ? collection : null;
    const span = parent.child(target === null ? name : `${name} ${target}`, 'client', {
      'db.system.name': 'mongodb',
      'db.namespace': namespace.db,
      'db.operation.name': name,
      ...(target !== null && { 'db.collection.name': target }),
    });
    return traced(span, () => send.call(this, namespace, command, ...others));
  };
}
