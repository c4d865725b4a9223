/** The expected read models: a plain implementation of the event rules, message by message. */
import type { LogMessage } from '#shared/kafka/message.ts';
import type { Entry } from './log.ts';

/** A record by the rules. */
export interface Expected {
  sequence: number;
  isDeleted: boolean;
}

/** An event that an operator applied outside of the log. */
export interface Retried {
  _id: string;
  /** The checkpoint's position at that time. */
  position: number;
  value: Buffer;
}

export class Model {
  /** By `<entity>/<store id>/<entity id>`. */
  readonly records = new Map<string, Expected>();
  /** The number of effective events, by `<store id>/<entity>`. */
  readonly effects = new Map<string, number>();
  letters = 0;

  /**
   * Applies the log between two positions.
   * @param retried events that an operator applied, by the preceding position.
   */
  apply(
    entries: readonly Entry[],
    from: number,
    to: number,
    retried: readonly Retried[] = [],
  ): void {
    const waiting = [...retried];
    const retryUpTo = (position: number) => {
      const due = waiting.filter((event) => event.position <= position);
      for (const event of waiting.splice(0, due.length)) this.#applyMessage(event);
    };
    for (const { from: at, message, unreadable } of entries) {
      if (at < from || at >= to) continue;
      retryUpTo(at);
      if (unreadable !== null) this.letters += 1;
      if (message !== null) this.#applyMessage(message);
    }
    retryUpTo(Infinity);
  }

  #applyMessage(message: Pick<LogMessage, 'value'>): void {
    const event = eventOf(message);
    if (event === null) {
      this.letters += 1;
      return;
    }
    const { entity, storeId, id, sequence, isDeleted } = event;
    const key = `${entity}/${storeId}/${id}`;
    if (sequence <= (this.records.get(key)?.sequence ?? -1)) return;
    this.records.set(key, { sequence, isDeleted });
    // Orders and reviews change with their customers (rule R10.10).
    const naming = entity === 'customer' && isDeleted ? ['order', 'review'] : [];
    for (const changed of [entity, ...naming]) {
      const effect = `${storeId}/${changed}`;
      this.effects.set(effect, (this.effects.get(effect) ?? 0) + 1);
    }
  }
}

/** `null` for poison, which is never JSON in this world. */
function eventOf({ value }: Pick<LogMessage, 'value'>) {
  const text = String(value);
  if (!text.startsWith('{')) return null;
  const event = JSON.parse(text) as Record<'type' | 'storeid' | 'subject' | 'sequence', string>;
  const [, entity = '', action] = event.type.split('.');
  return {
    entity,
    storeId: event.storeid,
    id: event.subject,
    sequence: Number(event.sequence),
    isDeleted: action === 'deleted',
  };
}
