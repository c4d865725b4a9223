import { describe, expect, it } from 'vitest';
import type { Answer } from '#shared/kafka/fetcher.ts';
import {
  digestOf,
  type LogMessage,
  type UnreadableBatch,
  type UnreadableReason,
} from '#shared/kafka/message.ts';
import { identityOf } from '#shared/projection/slice/checkpoint.ts';
import { createContinuity, type Verdict } from '#projector/log/continuity.ts';
import { kafkaMessage } from '#test/events.ts';
import { encodeBatch } from '#test/record-batches.ts';

const BYTES = 1_000;
const message = (offset: number, text = `a${offset}`): LogMessage => kafkaMessage(text, offset);
const answer = (end: number, ...messages: LogMessage[]): Answer => ({
  messages,
  next: Number(messages.at(-1)?.offset) + 1,
  end,
  isOutside: false,
});
const shown = (...messages: LogMessage[]) => answer(100, ...messages);
const after = (offset: number) => createContinuity(identityOf(message(offset)), offset + 1, BYTES);
const takenOf = (verdict: Verdict) =>
  verdict.kind === 'take' ? verdict.taken.messages.map(({ offset }) => offset) : verdict.kind;

/** `test/simulation` covers the rest. */
describe('continuity', () => {
  it('waits behind the last message at the end of the log, and takes what comes only once that is shown again', () => {
    const continuity = after(7);
    expect(continuity.judge(answer(8, message(7))).kind).toBe('undecided');
    expect(continuity.wanted).toEqual({ from: 8, bytes: BYTES, atEnd: true });
    expect(continuity.judge(answer(9, message(8))).kind).toBe('undecided');
    expect(continuity.wanted).toEqual({ from: 7, bytes: BYTES, atEnd: false });
    expect(continuity.judge(answer(9, message(7, 'other'), message(8))).kind).toBe('replaced');
  });

  it('takes what does not fit into an answer with the last message if the log shows that before and after it', () => {
    for (const [again, expected] of [
      [message(7), ['8', '9']],
      [message(7, 'other'), 'replaced'],
    ] as const) {
      const continuity = after(7);
      expect(continuity.judge(shown(message(7))).kind).toBe('undecided');
      expect(continuity.wanted).toEqual({ from: 8, bytes: BYTES, atEnd: false });
      expect(continuity.judge(shown(message(8), message(9))).kind).toBe('undecided');
      expect(continuity.wanted.from).toBe(7);
      expect(takenOf(continuity.judge(shown(again)))).toEqual(expected);
    }
  });

  it('gives the batch that is read again as much extra room, at most a mebibyte', () => {
    for (const bytes of [500, 1_500_000]) {
      const batch = encodeBatch({ baseOffset: 8, values: [Buffer.alloc(bytes)] });
      const continuity = after(7);
      continuity.judge(shown(message(7), Object.assign(message(8), { batch })));
      expect(continuity.wanted.bytes).toBe(BYTES + Math.min(batch.length, 1_048_576));
    }
  });

  it('leaves it to the bounds of the log if that does not have the offset, and to nothing if it has another message', () => {
    expect(after(7).judge(answer(100, message(9))).kind).toBe('replaced');
    expect(after(7).judge({ ...shown(message(0)), isOutside: true }).kind).toBe('doubt');
    const continuity = after(7);
    expect(continuity.noteBounds({ start: 8, end: 9 })).toBe(true);
    expect(continuity.wanted).toEqual({ from: 8, bytes: BYTES, atEnd: false });
    expect(takenOf(continuity.judge(answer(100, message(9))))).toEqual(['9']);
  });

  it('waits in a log without messages', () => {
    const continuity = createContinuity(null, 0, BYTES);
    continuity.noteBounds({ start: 0, end: 0 });
    // There is nothing to prove: only its bounds say more.
    expect([continuity.wanted.atEnd, continuity.canProve]).toEqual([true, false]);
    expect(takenOf(continuity.judge(answer(1, message(0))))).toEqual(['0']);
  });

  describe('with a batch that cannot be read', () => {
    const HEADER = Buffer.from('a header');
    const placeholder = (from: number, to: number | null, reason: UnreadableReason = 'corrupt') =>
      Object.assign(message(to ?? from), {
        value: null,
        unreadable: {
          reason,
          detail: 'cut',
          from,
          to,
          digest: digestOf(HEADER),
        } satisfies UnreadableBatch,
      });

    it('reports that the batch hides the last message, whose proof can be given up', () => {
      const hiding = (...messages: LogMessage[]) => {
        const verdict = after(7).judge(shown(...messages));
        return verdict.kind === 'hidden' ? verdict.batch.from : verdict.kind;
      };
      expect(hiding(placeholder(7, 7))).toBe(7);
      expect(hiding(placeholder(5, 9))).toBe(5);
      expect(hiding(placeholder(5, null))).toBe(5);
      expect(hiding(message(7), placeholder(8, 9))).toBe('take');
      const continuity = after(7);
      continuity.giveUpProof();
      expect(continuity.wanted.from).toBe(8);
      expect(takenOf(continuity.judge(shown(message(8))))).toEqual(['8']);
    });

    it('continues behind a damaged one that was skipped, which ends each answer with the last message', () => {
      const continuity = createContinuity(identityOf(message(4)), 7, BYTES);
      expect(continuity.judge(shown(message(4), placeholder(5, 6))).kind).toBe('undecided');
      expect(continuity.wanted.from).toBe(7);
      expect(continuity.judge(shown(message(7))).kind).toBe('undecided');
      expect(takenOf(continuity.judge(shown(message(4), placeholder(5, 6))))).toEqual(['7']);
    });

    it('is proven by an intact unreadable batch, even after that becomes readable', () => {
      const continuity = after(4);
      expect(takenOf(continuity.judge(shown(message(4), placeholder(5, 8, 'malformed'))))).toEqual([
        '8',
      ]);
      expect(continuity.last?.offset).toBe(8);
      const reloaded = () => createContinuity(continuity.last, 9, BYTES);
      expect(takenOf(reloaded().judge(shown(placeholder(5, 8, 'malformed'), message(9))))).toEqual([
        '9',
      ]);
      const read = Object.assign(message(8), { batch: HEADER });
      expect(takenOf(reloaded().judge(shown(read, message(9))))).toEqual(['9']);
      const other = Object.assign(message(8), { batch: Buffer.from('another') });
      expect(reloaded().judge(shown(other, message(9))).kind).toBe('replaced');
    });
  });
});
