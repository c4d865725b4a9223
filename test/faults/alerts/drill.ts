/**
 * A drill of alerts: what raises them, and what their runbook (docs/operations.md) says that an
 * operator does.
 */
import type { Watched } from './watched.ts';

export interface Drill {
  /** What happens. */
  name: string;
  alerts: readonly string[];
  /**
   * How many orders are published and requests sent in each second until the remedy. None by
   * default.
   */
  orders?: number;
  requests?: number;
  /** Lets it happen. @returns what the runbook says. */
  cause: (watched: Watched) => Promise<() => Promise<unknown>>;
}
