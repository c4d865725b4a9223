/** Keeps the changing part of the screen up to date: the history's progress first, then how everything fares. */
import type { Published } from '#local/simulator/simulator.ts';
import { pause } from '#shared/pause.ts';
import { grouped, LiveView, type Moment } from './live-view.ts';
import type { Screen } from './screen.ts';

const INTERVAL_MS = 1_000;

export interface HistoryProgress extends Published {
  /** Orders that it will have. */
  ofOrders: number;
  /** Whether clients can see all of it. */
  isVisible: boolean;
}

/** Runs until `stopping`; then the screen holds nothing that changes. */
export async function showLive(
  screen: Screen,
  look: (isVisible: boolean) => Promise<Moment>,
  { stores, history }: { stores: number; history: Readonly<HistoryProgress> },
  stopping: AbortSignal,
): Promise<void> {
  let view = new LiveView(stores, Date.now());
  let wasVisible = false;
  while (!stopping.aborted) {
    const { isVisible, orders, ofOrders } = history;
    const moment = await look(isVisible);
    if (stopping.aborted) break;
    const now = Date.now();
    // How fast the history came says nothing of what comes now.
    if (isVisible && !wasVisible) view = new LiveView(stores, now);
    wasVisible = isVisible;
    view.take(moment, now);
    if (isVisible) screen.live(view.line(), view.panel(now));
    else {
      screen.live(
        `history: ${grouped(orders)} of ${grouped(ofOrders)} orders published · ${view.progress()}`,
      );
    }
    await pause(INTERVAL_MS, stopping);
  }
  screen.live('');
}
