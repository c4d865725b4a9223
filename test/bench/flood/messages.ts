/** What is said between the benchmark and the processes that ask. */

export interface VisitOrder {
  url: string;
  token: string;
  /** Requests a second, evenly, whether or not earlier ones are answered. */
  rate: number;
  seconds: number;
}

export interface Visit {
  /** Of each answer. */
  milliseconds: number[];
  /** How many answers had which status. */
  statuses: Record<number, number>;
}

export type VisitReply = Visit | { failed: string };
