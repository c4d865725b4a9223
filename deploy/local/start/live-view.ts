/** The changing lines of the screen: counts and rates from figures of successive moments. */
import { ORDER_STATUSES } from '#shared/events/entities/order.ts';
import { pause } from '#shared/pause.ts';
import {
  grouped,
  type Histogram,
  type OrdersByStatus,
  type ProjectorFigures,
  quantile,
  sum,
  total,
} from './figures.ts';
import type { Screen } from './screen.ts';

/** Figures of one moment; `null` for a process that does not answer. */
export interface Moment {
  projector: ProjectorFigures | null;
  /** Durations of answers in seconds, as the query service counts them. */
  answers: Histogram | null;
  orders: OrdersByStatus | null;
}

interface Reading {
  at: number;
  applied: number;
  freshness: Histogram;
  requests: number;
  answers: Histogram;
}

const RATE_MS = 5_000;
const QUANTILE_MS = 60_000;
/** Steps of the small charts. */
const STEPS = 20;
/** Of a duration. */
const WIDEST = 6;
const BARS = '▁▂▃▄▅▆▇█';
const NOTHING: Histogram = new Map();

const tenths = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });

export class LiveView {
  readonly #stores: number;
  readonly #began: number;
  #readings: Reading[] = [];
  #moment: Moment = { projector: null, answers: null, orders: null };

  constructor(stores: number, now: number) {
    this.#stores = stores;
    this.#began = now;
  }

  /** Takes in what is seen now. */
  take(moment: Moment, now: number): void {
    this.#moment = moment;
    const last = this.#readings.at(-1);
    const { projector, answers } = moment;
    const reading: Reading = {
      at: now,
      applied: projector?.applied ?? last?.applied ?? 0,
      freshness: projector?.freshness ?? last?.freshness ?? NOTHING,
      requests: answers === null ? (last?.requests ?? 0) : total(answers),
      answers: answers ?? last?.answers ?? NOTHING,
    };
    // A process that was started again counts from zero.
    const isNew =
      last !== undefined &&
      (reading.requests < last.requests || total(reading.freshness) < total(last.freshness));
    this.#readings = isNew
      ? [reading]
      : [...this.#readings.filter(({ at }) => now - at <= QUANTILE_MS), reading];
  }

  /** Progress while the history is applied, in one line. */
  progress(): string {
    const { projector } = this.#moment;
    if (projector === null) return 'the projector does not answer';
    return [
      `${grouped(projector.applied)} events applied`,
      `${this.#rate('applied')} events/s`,
      `lag ${backlog(projector)}`,
      ...deadLetters(projector),
    ].join(' · ');
  }

  /** Everything in one line. */
  line(): string {
    const { projector, answers, orders } = this.#moment;
    const parts = [
      orders === null ? 'MongoDB does not answer' : `${grouped(sum([...orders.values()]))} orders`,
      ...(projector === null
        ? ['the projector does not answer']
        : [`${this.#rate('applied')} events/s`, `freshness ${this.#spread('freshness')}`]),
      answers === null
        ? 'the query service does not answer'
        : `${this.#rate('requests')} requests/s · answers ${this.#spread('answers')}`,
      ...(projector === null ? [] : [`backlog ${backlog(projector)}`, ...deadLetters(projector)]),
    ];
    return parts.join(' · ');
  }

  /** Everything, in lines that stay where they are and fit 80 columns. */
  panel(now: number): string[] {
    const { projector, answers, orders } = this.#moment;
    const seconds = Math.floor((now - this.#began) / 1_000);
    const cells = ORDER_STATUSES.map(
      (status) => `${status.padEnd(10)}${grouped(orders?.get(status) ?? 0).padStart(7)}`,
    );
    const head = [
      `${grouped(this.#stores)} stores`,
      orders === null ? 'MongoDB does not answer' : `${grouped(sum([...orders.values()]))} orders`,
      ...(projector === null
        ? []
        : [`backlog ${backlog(projector)}`, `${grouped(projector.deadLetters)} dead letters`]),
      `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`,
    ];
    return [
      ` ${head.join(' · ')}`,
      ` ${cells.slice(0, 4).join('  ')}`,
      ` ${cells.slice(4).join('  ')}`,
      projector === null
        ? ' events    the projector does not answer'
        : ` events    ${this.#chart('applied')}  freshness ${this.#spread('freshness', WIDEST)}`,
      answers === null
        ? ' requests  the query service does not answer'
        : ` requests  ${this.#chart('requests')}  answers   ${this.#spread('answers', WIDEST)}`,
    ];
  }

  #rate(of: 'applied' | 'requests'): string {
    const last = this.#readings.at(-1);
    const first = this.#readings.find(({ at }) => at >= (last?.at ?? 0) - RATE_MS);
    if (last === undefined || first === undefined || first.at === last.at) return '0';
    const rate = ((last[of] - first[of]) * 1_000) / (last.at - first.at);
    return rate < 10 ? tenths.format(rate) : grouped(rate);
  }

  #chart(of: 'applied' | 'requests'): string {
    const counts = this.#readings.slice(-STEPS - 1).map((reading) => reading[of]);
    const steps = counts.slice(1).map((count, index) => count - (counts[index] ?? count));
    const highest = Math.max(1, ...steps);
    const bars = steps.map((step) => BARS[Math.ceil((step / highest) * (BARS.length - 1))]).join('');
    return `${`${this.#rate(of)}/s`.padStart(8)} ${bars.padStart(STEPS)}`;
  }

  /** Median and 99th percentile of the past minute. */
  #spread(of: 'freshness' | 'answers', width = 0): string {
    const [first, last] = [this.#readings[0], this.#readings.at(-1)];
    const at = (share: number) => duration(quantile(first?.[of] ?? NOTHING, last?.[of] ?? NOTHING, share));
    return `p50 ${at(0.5).padEnd(width)} p99 ${at(0.99)}`;
  }
}

function backlog({ lag }: ProjectorFigures): string {
  return lag === null ? 'unknown' : grouped(lag);
}

function deadLetters({ deadLetters }: ProjectorFigures): string[] {
  return deadLetters === 0 ? [] : [`${grouped(deadLetters)} dead letters`];
}

function duration(seconds: number | null): string {
  if (seconds === null) return '-';
  const [value, unit] = seconds < 1 ? [seconds * 1_000, 'ms'] : [seconds, 's'];
  return `${Number(value.toPrecision(2))} ${unit}`;
}

const INTERVAL_MS = 1_000;

export interface HistoryProgress {
  /** Orders that are published, and that there will be. */
  orders: number;
  ofOrders: number;
  /** Whether clients can see all of it. */
  isVisible: boolean;
}

/** Updates the screen until `stopping`, then removes the changing lines. */
export async function showLive(
  screen: Screen,
  read: (isVisible: boolean) => Promise<Moment>,
  { stores, history }: { stores: number; history: Readonly<HistoryProgress> },
  stopping: AbortSignal,
): Promise<void> {
  let view = new LiveView(stores, Date.now());
  let wasVisible = false;
  while (!stopping.aborted) {
    const { isVisible, orders, ofOrders } = history;
    const moment = await read(isVisible);
    if (stopping.aborted) break;
    const now = Date.now();
    // The rates of the history would distort those of live traffic.
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
