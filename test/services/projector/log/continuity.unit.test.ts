import { describe, expect, it } from 'vitest';
import { digestOf, type LogMessage, type UnreadableBatch, type UnreadableReason } from '#shared/kafka/message.ts';
import { identityOf } from '#shared/projection/slice/checkpoint.ts';
import { Continuity, type FetchedBatch, type Verdict } from '#projector/log/continuity.ts';

const answer = (highWatermark: string, ...messages: LogMessage[]): FetchedBatch => ({
  messages,
  highWatermark,
  firstOffset: () => messages[0]?.offset ?? null,
  lastOffset: () => messages.at(-1)?.offset ?? '',
});
const message = (offset: number, text = `a${offset}`) =>
  ({ offset: String(offset), timestamp: '0', value: Buffer.from(text) }) as LogMessage;
describe('continuity', () => {
  const HEADER = Buffer.from('a header');

  describe('with a batch that cannot be read', () => {
    const placeholder = (from: number, to: number | null, reason: UnreadableReason = 'corrupt') =>
      Object.assign(message(to ?? from), {
        value: null,
        unreadable: { reason, detail: 'cut', from, to, digest: digestOf(HEADER) } satisfies UnreadableBatch,
      });
    const shown = (...messages: LogMessage[]) => answer('100', ...messages);
    const takenOf = (verdict: Verdict) =>
      verdict.kind === 'take' ? verdict.taken.messages.map(({ offset }) => offset) : verdict.kind;

    it('reports that the batch hides the last message, whose proof can be given up', () => {
      const hiding = (...messages: LogMessage[]) => {
        const verdict = new Continuity(identityOf(message(7)), 8).judge(shown(...messages));
        return verdict.kind === 'hidden' ? verdict.batch.from : verdict.kind;
      };
      expect(hiding(message(6), placeholder(7, 7))).toBe(7);
      expect(hiding(placeholder(5, 9))).toBe(5);
      expect(hiding(placeholder(5, null))).toBe(5);
      expect(hiding(placeholder(5, 6), message(7))).toBe('undecided');
      expect(hiding(message(7), placeholder(8, 9))).toBe('take');
      const continuity = new Continuity(identityOf(message(7)), 8);
      continuity.giveUpProof();
      expect(continuity.from).toBe(8);
      expect(takenOf(continuity.judge(shown(message(8))))).toEqual(['8']);
    });

    it('is proven by an intact unreadable batch, even after that becomes readable', () => {
      const continuity = new Continuity(identityOf(message(4)), 5);
      expect(takenOf(continuity.judge(shown(message(4), placeholder(5, 8, 'malformed'))))).toEqual(['8']);
      expect(continuity.last?.offset).toBe(8);
      const reloaded = () => new Continuity(continuity.last, 9);
      expect(takenOf(reloaded().judge(shown(placeholder(5, 8, 'malformed'), message(9))))).toEqual(['9']);
      const read = Object.assign(message(8), { batch: HEADER });
      expect(takenOf(reloaded().judge(shown(read, message(9))))).toEqual(['9']);
      const other = Object.assign(message(8), { batch: Buffer.from('another') });
      expect(reloaded().judge(shown(other, message(9))).kind).toBe('replaced');
    });
  });
});
