/** Keeps the changing line of the screen up to date: the history's progress first, then the status. */
import type { Published } from '#local/simulator/simulator.ts';
import { pause } from '#shared/pause.ts';
import type { ProjectorWatch } from './projector-watch.ts';
import type { Screen } from './screen.ts';
import { grouped, StatusLine } from './status.ts';

const INTERVAL_MS = 1_000;

/** How far the history is. */
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
