/** What is said between the benchmark and the process that asks. */

export interface AskOrder {
  port: number;
  /** As they are sent, in turn. */
  requests: readonly string[];
  /** Connections that are kept; where none is free a request waits for one, which counts as its time. */
  connections: number;
  seconds: number;
  /** Requests at times that are fixed in advance; absent where each connection asks again once it was answered. */
  phases?: readonly { perSecond: number; seconds: number }[];
}

/** What one request became. */
export interface Told {
  /** When it should have been sent, in milliseconds since the beginning. */
  due: number;
  /** 0 where no answer came. */
  status: number;
  /** From then to the end of its answer. */
  milliseconds: number;
}

export type AskReply = { told: Told[] } | { failed: string };
