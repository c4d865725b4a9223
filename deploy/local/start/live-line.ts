/** Keeps the changing line of the screen up to date: the history's progress first, then how much is applied, how fast, and how much is still to come. */
import type { Published } from '#local/simulator/simulator.ts';
import { pause } from '#shared/pause.ts';
import type { ProjectorState, ProjectorWatch } from './projector-watch.ts';
import type { Screen } from './screen.ts';

const INTERVAL_MS = 1_000;

export interface HistoryProgress extends Published {
  /** Orders that it will have. */
  ofOrders: number;
  /** Whether clients can see all of it. */
  isVisible: boolean;
}

/** Runs until `stopping`; then the line is cleared. */
export async function showLiveLine(
  screen: Screen,
  watch: ProjectorWatch,
  history: Readonly<HistoryProgress>,
  stopping: AbortSignal,
): Promise<void> {
  const status = new StatusLine();
  while (!stopping.aborted) {
    const state = await watch.look();
    if (stopping.aborted) break;
    const now = status.describe(state, Date.now());
    const { orders, ofOrders, isVisible } = history;
    screen.live(
      isVisible ? now : `history: ${grouped(orders)} of ${grouped(ofOrders)} orders published · ${now}`,
    );
    await pause(INTERVAL_MS, stopping);
  }
  screen.live('');
}

const WINDOW_MS = 5_000;
const number = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** Whole numbers as people read them: `12,345`. */
export function grouped(value: number): string {
  return number.format(value);
}

/** Makes the line out of one look after another; the rate is that of the past seconds. */
export class StatusLine {
  readonly #looks: { at: number; applied: number }[] = [];

  /** The line for what was seen at `now`. */
  describe(state: ProjectorState | null, now: number): string {
    if (state === null) return 'the projector does not answer';
    const { applied, changesLag, accessLag, deadLetters } = state;
    this.#looks.push({ at: now, applied });
    while (this.#looks.length > 2 && now - (this.#looks[0]?.at ?? now) > WINDOW_MS) this.#looks.shift();
    const parts = [
      `${grouped(applied)} events applied`,
      `${grouped(this.#rate(now, applied))} events/s`,
      `lag ${changesLag === null ? 'unknown' : grouped(changesLag + (accessLag ?? 0))}`,
    ];
    if (deadLetters > 0) parts.push(`${grouped(deadLetters)} dead letters`);
    return parts.join(' · ');
  }

  #rate(now: number, applied: number): number {
    const first = this.#looks[0];
    if (first === undefined || first.at === now) return 0;
    return ((applied - first.applied) * 1_000) / (now - first.at);
  }
}
