/**
 * Sends messages in batches, one batch at a time: while one is under way the next is gathered, and a store's
 * events keep their order whatever has to be sent again.
 */
import type { Producer } from 'kafkajs';

export interface Outgoing {
  topic: string;
  key: string;
  value: Buffer;
  /** Where it came from. */
  line: number;
}

export interface BatchSenderOptions {
  producer: Pick<Producer, 'sendBatch'>;
  /** The trace that the messages are a part of, as W3C writes it. */
  traceparent?: string | undefined;
  /** Told of messages that Kafka has taken. */
  sent: (messages: readonly Outgoing[]) => void;
  /** Told of a message that is larger than its topic allows. */
  refused: (message: Outgoing) => void;
}

/** A topic's default `max.message.bytes` is 1 MiB for what one request brings to one partition. */
const BATCH_BYTES = 786_432;
const BATCH_MESSAGES = 2_000;
/** Roughly what Kafka's record format and a header add to a message. */
const OVERHEAD_BYTES = 96;

const CONTENT_TYPE = { 'content-type': 'application/cloudevents+json' };

export class BatchSender {
  readonly #options: BatchSenderOptions;
  #gathered: Outgoing[] = [];
  #bytes = 0;
  #isBusy = false;
  #underWay: Promise<void> = Promise.resolve();

  constructor(options: BatchSenderOptions) {
    this.#options = options;
  }

  /** Gathers a message; waits only where as much is gathered as fits a batch, and one is under way. */
  async add(message: Outgoing): Promise<void> {
    const bytes = message.value.length + OVERHEAD_BYTES;
    while (this.#gathered.length > 0 && !this.#fits(bytes)) {
      if (this.#isBusy) await this.#underWay;
      else this.kick();
    }
    this.#gathered.push(message);
    this.#bytes += bytes;
  }

  /** Sends what is gathered, unless a batch is under way: then it follows that. */
  kick(): void {
    if (this.#isBusy || this.#gathered.length === 0) return;
    const messages = this.#gathered;
    this.#gathered = [];
    this.#bytes = 0;
    this.#isBusy = true;
    this.#underWay = this.#sendAndGoOn(messages);
    // The next wait throws its failure; nothing is sent after it.
    this.#underWay.catch(() => undefined);
  }

  /** Sends the rest and waits until Kafka has all of it. */
  async finish(): Promise<void> {
    this.kick();
    while (this.#isBusy) await this.#underWay;
  }

  async #sendAndGoOn(messages: readonly Outgoing[]): Promise<void> {
    await this.#send(messages);
    this.#isBusy = false;
    this.kick();
  }

  #fits(bytes: number): boolean {
    return this.#gathered.length < BATCH_MESSAGES && this.#bytes + bytes <= BATCH_BYTES;
  }

  async #send(messages: readonly Outgoing[]): Promise<void> {
    const { producer, traceparent, sent, refused } = this.#options;
    const headers = traceparent === undefined ? CONTENT_TYPE : { ...CONTENT_TYPE, traceparent };
    try {
      await producer.sendBatch({ acks: -1, topicMessages: byTopic(messages, headers) });
      sent(messages);
    } catch (error) {
      if (!isTooLarge(error)) throw error;
      const [only] = messages;
      if (messages.length === 1 && only !== undefined) {
        refused(only);
        return;
      }
      // Halves, in order, until the one that is too large is alone; what came twice changes nothing.
      const middle = Math.ceil(messages.length / 2);
      await this.#send(messages.slice(0, middle));
      await this.#send(messages.slice(middle));
    }
  }
}

function byTopic(messages: readonly Outgoing[], headers: Record<string, string>) {
  const topics = Map.groupBy(messages, ({ topic }) => topic);
  return [...topics].map(([topic, ofTopic]) => ({
    topic,
    messages: ofTopic.map(({ key, value }) => ({ key, value, headers })),
  }));
}

function isTooLarge(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('type' in error && error.type === 'MESSAGE_TOO_LARGE') || isTooLarge(error.cause);
}
