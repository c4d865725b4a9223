/**
 * Without a collector's address OpenTelemetry is not loaded, and no span is active
 * (docs/operations.md, "Traces").
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { SpanContext } from '@opentelemetry/api';
import type { Config } from './config.ts';
import { StoreDataError } from './errors.ts';
import type { Logger } from './logging.ts';

export type Kind = 'internal' | 'server' | 'client' | 'consumer';

/**
 * Attributes of a span: our own names and numbers, never text of a client, a publisher or a person.
 */
export type Attributes = Readonly<Record<string, string | number>>;

export interface Span {
  readonly context: SpanContext;
  readonly isEnded: boolean;
  child: (name: string, kind: Kind, attributes?: Attributes) => Span;
  link: (other: Span) => void;
  set: (attributes: Attributes) => void;
  /** @param failure what kind of error ended it. */
  end: (failure?: string) => void;
}

export interface Beginning {
  name: string;
  kind: Kind;
  attributes: Attributes;
  /**
   * Headers `traceparent` of the causes: the span continues the first trace that is recorded, and
   * links to the others.
   */
  traceparents: readonly string[];
  /** Whether it begins a trace of its own, with links to those of its causes. */
  isRoot?: boolean;
  /** How many milliseconds ago it began. */
  sinceMs?: number;
}

export interface Tracing {
  /** Begins a span without a parent in this process; `null` if it is not sampled. */
  begin: (beginning: Beginning) => Span | null;
  /** Sends recorded spans, within a bounded time. Never rejects. */
  stop: () => Promise<void>;
}

export const MAX_LINKS = 32;

const active = new AsyncLocalStorage<Span | undefined>();

export async function startTracing(
  { tracing }: Config,
  service: string,
  logger: Logger,
): Promise<Tracing | null> {
  if (tracing.endpoint === null && tracing.tracesEndpoint === null) return null;
  const { createOpenTelemetry } = await import('./tracing/open-telemetry.ts');
  return createOpenTelemetry(tracing, service, logger);
}

export function activeSpan(): Span | undefined {
  const span = active.getStore();
  // Work after an answer does not belong to its span.
  return span?.isEnded === true ? undefined : span;
}

export function within<T>(span: Span | undefined, work: () => T): T {
  return active.run(span, work);
}

export async function traced<T>(span: Span | undefined, work: () => Promise<T>): Promise<T> {
  if (span === undefined) return work();
  try {
    const result = await within(span, work);
    span.end();
    return result;
  } catch (error) {
    span.end(errorType(error));
    throw error;
  }
}

/** Does shared work as a child of the first span, with links between it and the others. */
export async function tracedTogether<T>(
  name: string,
  spans: readonly Span[],
  work: () => Promise<T>,
): Promise<T> {
  const [first, ...others] = spans;
  // The request that started the work is not traced.
  if (first === undefined) return within(undefined, work);
  const span = first.child(name, 'internal');
  for (const other of others.slice(0, MAX_LINKS)) {
    span.link(other);
    other.link(span);
  }
  return traced(span, work);
}

export function errorType(error: unknown): string {
  if (error instanceof StoreDataError) return error.code;
  return error instanceof Error ? error.name : 'unknown';
}
