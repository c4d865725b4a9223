import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestOf, type LogMessage, type UnreadableBatch, type UnreadableReason } from '#shared/kafka/message.ts';
import { identityOf } from '#shared/projection/slice/checkpoint.ts';
import { Continuity, type FetchedBatch, type Verdict } from '#projector/log/continuity.ts';

/** What lies at an offset: a message, or none, as where a marker lies. */
type Entry = string | null;

/** A log whose record batches have `perBatch` entries each. */
interface Log {
  entries: Entry[];
  perBatch: number;
}

/** An answer of at most `most` entries, whole record batches from the one that holds the offset on, and one at least; as our decoder shows it. */
function fetch({ entries, perBatch }: Log, from: number, most: number): FetchedBatch | null {
  if (from >= entries.length) return null;
  const start = Math.floor(from / perBatch) * perBatch;
  const batches = Math.max(1, Math.floor(most / perBatch));
  const end = Math.min(entries.length, start + batches * perBatch);
  const offsets = entries.slice(0, end).flatMap((text, offset) => (text === null ? [] : [offset]));
  const read = offsets.filter((offset) => offset >= from);
  const [first = end, last = end - 1] = [read[0], read.at(-1)];
  const messages = [
    ...(first > from ? [gap(from, first - 1)] : []),
    ...read.map((offset) => message(offset, entries[offset] ?? '')),
    ...(last < end - 1 ? [gap(last + 1, end - 1)] : []),
  ];
  return answer(String(entries.length), ...messages);
}

const answer = (highWatermark: string, ...messages: LogMessage[]): FetchedBatch => ({
  messages,
  highWatermark,
  firstOffset: () => messages[0]?.offset ?? null,
  lastOffset: () => messages.at(-1)?.offset ?? '',
});
const message = (offset: number, text = `a${offset}`) =>
  ({ offset: String(offset), timestamp: '0', value: Buffer.from(text) }) as LogMessage;
const gap = (gapFrom: number, to: number) => Object.assign(message(to, ''), { value: null, gapFrom });

const textOf = ({ value }: LogMessage) => value?.toString() ?? '';

/** A consumer that fetches as it is told. */
class Consumer {
  readonly continuity: Continuity;
  readonly applied: string[] = [];
  outcome: Verdict['kind'] = 'look';
  #at: number;

  constructor(continuity = new Continuity(null, 0)) {
    this.continuity = continuity;
    this.#at = continuity.from;
  }

  /** @returns whether something came. */
  fetch(log: Log, most: number): boolean {
    const batch = fetch(log, this.#at, most);
    if (batch === null) {
      // Beyond the end kafkajs goes back to the beginning.
      if (this.#at > log.entries.length) this.#at = 0;
      return false;
    }
    const verdict = this.continuity.judge(batch);
    this.outcome = verdict.kind;
    if (verdict.kind === 'take') this.applied.push(...verdict.taken.messages.map(textOf));
    this.#at = this.continuity.from;
    return true;
  }
}

const log = (length: number, name: string, perBatch = 3): Log => ({
  entries: Array.from({ length }, (_, index) => `${name}${index}`),
  perBatch,
});

describe('continuity', () => {
  it('shows the last message in each fetch while more waits, and waits behind it at the end', () => {
    const consumer = new Consumer();
    consumer.fetch(log(9, 'a'), 6);
    expect(consumer.continuity.from).toBe(5);
    consumer.fetch(log(9, 'a'), 6);
    expect(consumer.continuity.from).toBe(9);
    expect(consumer.applied).toHaveLength(9);
  });

  it('says that the log has to be asked where it does not show the last message', () => {
    const consumer = new Consumer();
    consumer.fetch(log(6, 'a'), 6);
    for (let fetches = 0; fetches < 4; fetches += 1) consumer.fetch(log(2, 'b'), 6);
    expect(consumer.outcome).toBe('doubt');
  });

  const HEADER = Buffer.from('a header');

  describe('beside a batch that cannot be read', () => {
    const standIn = (from: number, to: number | null, reason: UnreadableReason = 'corrupt') =>
      Object.assign(message(to ?? from), {
        value: null,
        unreadable: { reason, detail: 'cut', from, to, digest: digestOf(HEADER) } satisfies UnreadableBatch,
      });
    const shown = (...messages: LogMessage[]) => answer('100', ...messages);
    const takenOf = (verdict: Verdict) =>
      verdict.kind === 'take' ? verdict.taken.messages.map(({ offset }) => offset) : verdict.kind;

    it('says when it holds the last message, which can be done without then', () => {
      const hiding = (...messages: LogMessage[]) => {
        const verdict = new Continuity(identityOf(message(7)), 8).judge(shown(...messages));
        return verdict.kind === 'hidden' ? verdict.batch.from : verdict.kind;
      };
      expect(hiding(message(6), standIn(7, 7))).toBe(7);
      expect(hiding(standIn(5, 9))).toBe(5);
      expect(hiding(standIn(5, null))).toBe(5);
      expect(hiding(standIn(5, 6), message(7))).toBe('look');
      expect(hiding(message(7), standIn(8, 9))).toBe('take');
      const continuity = new Continuity(identityOf(message(7)), 8);
      continuity.giveUpProof();
      expect(continuity.from).toBe(8);
      expect(takenOf(continuity.judge(shown(message(8))))).toEqual(['8']);
    });

    it('is proven by an intact one, also once that can be read', () => {
      const continuity = new Continuity(identityOf(message(4)), 5);
      expect(takenOf(continuity.judge(shown(message(4), standIn(5, 8, 'malformed'))))).toEqual(['8']);
      expect(continuity.last?.offset).toBe(8);
      const reloaded = () => new Continuity(continuity.last, 9);
      expect(takenOf(reloaded().judge(shown(standIn(5, 8, 'malformed'), message(9))))).toEqual(['9']);
      const read = Object.assign(message(8), { batch: HEADER });
      expect(takenOf(reloaded().judge(shown(read, message(9))))).toEqual(['9']);
      const other = Object.assign(message(8), { batch: Buffer.from('another') });
      expect(reloaded().judge(shown(other, message(9))).kind).toBe('replaced');
    });
  });

  it('applies each message once and in order, however large record batches are and whatever lies between', () => {
    const entries = fc.array(fc.option(fc.string({ maxLength: 2 }), { freq: 2, nil: null }), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(
        entries,
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 12 }),
        fc.infiniteStream(fc.integer({ min: 0, max: 3 })),
        (all, perBatch, most, steps) => {
          const consumer = new Consumer();
          let length = 0;
          for (let still = 0; still < 3;) {
            length = Math.min(all.length, length + (steps.next().value ?? 0));
            const came = consumer.fetch({ entries: all.slice(0, length), perBatch }, most);
            still = came || length < all.length ? 0 : still + 1;
          }
          expect(consumer.applied).toEqual(all.filter((entry) => entry !== null));
        },
      ),
    );
  });

  it('never applies a message of another log behind those of the first', () => {
    const change = fc.record({
      /** How much of the log stays; nothing when the topic is made anew. */
      kept: fc.integer({ min: 0, max: 20 }),
      added: fc.integer({ min: 0, max: 20 }),
      fetches: fc.integer({ min: 0, max: 3 }),
    });
    fc.assert(
      fc.property(
        fc.array(change, { maxLength: 8 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 8 }),
        (changes, perBatch, most) => {
          const consumer = new Consumer();
          let entries: Entry[] = [];
          const logs: string[] = [];
          changes.forEach(({ kept, added, fetches }, round) => {
            entries = [...entries.slice(0, kept), ...Array.from({ length: added }, (_, index) => `${round}/${index}`)];
            logs.push(entries.join());
            for (let count = 0; count < fetches && consumer.outcome !== 'replaced'; count += 1) {
              consumer.fetch({ entries, perBatch }, most);
              // All that was applied is the beginning of one log.
              const applied = consumer.applied.join();
              expect(logs.some((text) => `${text},`.startsWith(applied === '' ? '' : `${applied},`))).toBe(true);
            }
          });
        },
      ),
      { numRuns: 500 },
    );
  });
});
