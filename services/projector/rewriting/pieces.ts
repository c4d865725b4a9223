/**
 * What rewriting a store consists of: pieces. Each is whole by itself and short beside live events, and what it did is stored, so
 * that any process can go on where another one was killed.
 */
import type { Db } from 'mongodb';
import type { Logger } from '#shared/logging.ts';
import type { ProjectorMetrics } from '../metrics.ts';

export interface Pieces {
  /** Documents that the next piece may have at most. */
  readonly most: number;
  /** Does the next piece. @returns whether more follows, others shall go on with the store, or nothing is left of it to do here. */
  next: (documents: number) => Promise<'more' | 'others' | 'ended'>;
}

/** What whoever rewrites a store works with. */
export interface Workplace {
  db: Db;
  logger: Logger;
  metrics: ProjectorMetrics['rewriting'];
  labels: { environment: string; generation: string };
}
