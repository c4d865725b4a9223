/** What changes on the screen. */
import { expect, test } from 'vitest';
import { ORDER_STATUSES } from '#shared/events/entities/order.ts';
import { LiveView, type Moment } from '#local/start/live-view.ts';
import type { ProjectorState } from '#local/start/projector-watch.ts';

/** Of so many values: nine of ten are at most 0.1, the others at most 1. */
const values = (count: number) =>
  new Map([
    [0.1, Math.round(count * 0.9)],
    [1, count],
    [Infinity, count],
  ]);

const state = (applied: number, rest: Partial<ProjectorState> = {}): ProjectorState => ({
  applied,
  changesHandled: applied,
  keysApplied: 0,
  deadLetters: 0,
  changesLag: 0,
  accessLag: 0,
  accessPending: 0,
  freshness: values(applied),
  ...rest,
});

const moment = (applied: number, requests: number, rest: Partial<ProjectorState> = {}): Moment => ({
  projector: state(applied, rest),
  answers: values(requests),
  orders: new Map([
    ['pending', 3],
    ['concluded', 12_345],
  ]),
});

const nothing: Moment = { projector: null, answers: null, orders: null };

test('while the history comes: total, rate of the past seconds, and lag', () => {
  const view = new LiveView(5, 0);
  view.take(moment(1_000, 0), 0);
  expect(view.progress()).toBe('1,000 events applied · 0 events/s · lag 0');
  view.take(moment(3_500, 0, { changesLag: 12, accessLag: 1 }), 1_000);
  expect(view.progress()).toBe('3,500 events applied · 2,500 events/s · lag 13');
  for (let second = 2; second <= 20; second += 1) view.take(moment(3_500, 0), second * 1_000);
  view.take(moment(3_510, 0), 21_000);
  expect(view.progress()).toContain('· 2 events/s ·');
});

test('then everything, in lines of at most 80 columns that stay where they are', () => {
  const view = new LiveView(5, 0);
  for (let second = 0; second <= 30; second += 1) view.take(moment(second * 100, second * 4), second * 1_000);
  const lines = view.panel(30_000);
  expect(lines).toEqual([
    ' 5 stores · 12,348 orders · backlog 0 · 0 dead letters · 0:30',
    ' pending         3  confirmed       0  preparing       0  ready           0',
    ' dispatched      0  delivered       0  concluded  12,345  cancelled       0',
    ' events       100/s ████████████████████  freshness p50 56 ms  p99 910 ms',
    ' requests       4/s ████████████████████  answers   p50 56 ms  p99 910 ms',
  ]);
  view.take(moment(3_050, 120), 31_000);
  expect(view.panel(31_000)[3]).toContain(' 90/s ███████████████████▅  ');
  expect(view.line()).toBe(
    '12,348 orders · 90 events/s · freshness p50 56 ms p99 910 ms · 3.2 requests/s · answers p50 56 ms p99 910 ms · backlog 0',
  );
  for (const busy of [
    moment(9_999_999, 9_999_999, { deadLetters: 12_345, changesLag: 9_999_999 }),
    nothing,
  ]) {
    view.take(busy, 3_600_000);
    const widths = view.panel(3_600_000).map(({ length }) => length);
    expect(widths).toHaveLength(lines.length);
    expect(Math.max(...widths)).toBeLessThan(80);
  }
});

test('shows every status that an order can have', () => {
  const view = new LiveView(1, 0);
  view.take(moment(0, 0), 0);
  for (const status of ORDER_STATUSES) expect(view.panel(0).join('\n')).toContain(` ${status} `);
});

test('a service that counts from zero again is no rate below zero', () => {
  const view = new LiveView(1, 0);
  view.take(moment(100, 1_000), 0);
  view.take(moment(100, 3), 1_000);
  expect(view.panel(1_000)[4]).toContain(' 0/s ');
  view.take(moment(100, 5), 2_000);
  expect(view.panel(2_000)[4]).toContain(' 2/s ');
});

test('says what does not answer, and what is wrong', () => {
  const view = new LiveView(5, 0);
  view.take(nothing, 0);
  expect(view.progress()).toBe('the projector does not answer');
  expect(view.line()).toBe(
    'MongoDB does not answer · the projector does not answer · the query service does not answer',
  );
  expect(view.panel(0).join('\n')).toContain('MongoDB does not answer');
  expect(view.panel(0).join('\n')).toContain('the query service does not answer');
  view.take(moment(5, 0, { deadLetters: 2, changesLag: null }), 0);
  expect(view.progress()).toBe('5 events applied · 0 events/s · lag unknown · 2 dead letters');
  expect(view.line()).toMatch(/· backlog unknown · 2 dead letters$/);
});
