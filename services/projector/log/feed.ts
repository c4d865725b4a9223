/**
 * Reads a partition's log for its loop and proves each batch. While the log has more, it reads
 * ahead as the loop writes.
 */
import type { Clock } from '#shared/waiting.ts';
import type { Continuity, Verdict } from './continuity.ts';
import type { PartitionLog, Prepare } from './edges.ts';

/**
 * The least time between two batches at the end of the log. A transaction costs 8 ms of processor
 * time however small it is: more of them make all of them slow.
 */
const BATCHES_APART_MS = 40;

export type Found = Exclude<Verdict, { kind: 'undecided' }>;

export type Feed = ReturnType<typeof createFeed>;

/** @param prepare called with messages that wait while the loop writes others. */
export function createFeed(
  log: PartitionLog,
  continuity: Continuity,
  clock: Clock,
  prepare: Prepare,
) {
  let closing = new AbortController();
  let reading: Promise<Found | null> | null = null;
  let isAwaited = false;
  let isEmpty = true;
  let tookAt = -Infinity;

  async function read({ signal }: AbortController): Promise<Found | null> {
    for (;;) {
      const { wanted } = continuity;
      const pauseMs = wanted.atEnd ? tookAt + BATCHES_APART_MS - clock.now() : 0;
      if (pauseMs > 0) await clock.sleep(pauseMs, signal);
      const answer = await log.read(wanted, signal);
      if (answer === null || signal.aborted) return null;
      const verdict = continuity.judge(answer);
      if (verdict.kind === 'undecided') continue;
      isEmpty = false;
      if (verdict.kind === 'take' && !isAwaited) prepare(verdict.taken.messages);
      return verdict;
    }
  }

  return {
    continuity,

    /** Whether nothing was read yet for the next call of `next`. */
    get isEmpty(): boolean {
      return isEmpty;
    },

    /** Ends the present read. `next` reads again, as the continuity wants it then. */
    close(): void {
      closing.abort();
      closing = new AbortController();
      reading = null;
    },

    /** What the log has next; `null` if nothing comes within `quietMs`. */
    async next(quietMs: number): Promise<Found | null> {
      isAwaited = true;
      reading ??= read(closing);
      const came = new AbortController();
      // A closed read ends with `null` by itself, and this pause with it.
      const quiet = clock.sleep(quietMs, came.signal).then(() => null);
      const found = await Promise.race([reading, quiet]).finally(() => {
        came.abort();
        isAwaited = false;
      });
      if (found === null) return null;
      reading = null;
      isEmpty = true;
      if (found.kind !== 'take') return found;
      tookAt = clock.now();
      // At the end of the log the next read begins when this batch is written: what comes meanwhile
      // makes one batch.
      if (!continuity.wanted.atEnd) {
        reading = read(closing);
        // The loop learns of it when it reads next.
        reading.catch(() => undefined);
      }
      return found;
    },
  };
}
