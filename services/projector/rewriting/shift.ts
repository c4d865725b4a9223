/** What whoever rewrites a store is given: its turn, and how it goes on beside live events. */
import type { Db } from 'mongodb';
import type { Logger } from '#shared/logging.ts';
import type { ProjectorMetrics } from '../metrics.ts';

export interface Shift {
  db: Db;
  logger: Logger;
  metrics: ProjectorMetrics['rewriting'];
  labels: { environment: string; generation: string };
  /** Whether others' turn has come, or the process stops. */
  isOver: () => boolean;
  /** Does a part of the work when its time has come, with so many documents at most, and rests in proportion to what it took. */
  beside: <T>(most: number, work: (documents: number) => Promise<T>) => Promise<T>;
}
