/** Without a collector's address nothing of OpenTelemetry is loaded, and no span is ever active (docs/tracing.md). */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Config } from './config.ts';
import { StoreDataError } from './errors.ts';
import type { Logger } from './logging.ts';

export type Kind = 'internal' | 'server' | 'client' | 'consumer';

/** Attributes of a span: our own names and numbers, never text of a client, a publisher or a person. */
export type Attributes = Readonly<Record<string, string | number>>;

export interface Span {
  readonly traceId: string;
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
  /** Headers `traceparent` of the causes: the span continues the first trace that is recorded, and links to the others. */
  traceparents: readonly string[];
  /** Those who caused it decide nothing: it begins a trace of its own, and links to theirs. */
  isRoot?: boolean;
  /** For how many milliseconds it has been under way. */
  sinceMs?: number;
}

export interface Tracing {
  /** Begins a span that is no other's child here; `null` where it is not sampled. */
  begin: (beginning: Beginning) => Span | null;
  /** Sends what is recorded, within a bounded time. Never rejects. */
  stop: () => Promise<void>;
}

export const MAX_LINKS = 32;

const active = new AsyncLocalStorage<Span | undefined>();

export async function startTracing({ tracing }: Config, service: string, logger: Logger): Promise<Tracing | null> {
  if (tracing.endpoint === null && tracing.tracesEndpoint === null) return null;
  const { OpenTelemetry } = await import('./tracing/open-telemetry.ts');
  return new OpenTelemetry(tracing, service, logger);
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

/** Does at once what several asked for: as a child of the first one's span, to which those of the others are linked. */
export async function tracedTogether<T>(name: string, spans: readonly Span[], work: () => Promise<T>): Promise<T> {
  const [first, ...others] = spans;
  // The request that happened to start the read is not among them.
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
