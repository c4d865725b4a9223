/** A message as an SDK hands it to the client of Kafka. */
export interface Sent {
  /** The call that made it, as docs/events.md names it. */
  call: string;
  headers: Record<string, string>;
  key: string;
  /** In Base64; `null`: none. */
  value: string | null;
}
