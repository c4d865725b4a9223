/** A message as an SDK passes it to the Kafka client. */
export interface Sent {
  /** The SDK call, as docs/events.md names it. */
  call: string;
  headers: Record<string, string>;
  key: string;
  /** Base64; `null` if the message has no value. */
  value: string | null;
}
