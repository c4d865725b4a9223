import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { runCommand, runJson } from '../admin/run-command.ts';
import { orderEvent } from '#test/events.ts';
import { times } from '#test/times.ts';
import { aCoupon } from '#test/changes.ts';
import { useQueryService } from '#test/hooks.ts';
import type { ListBody } from '#test/api-client.ts';
import { generationCaughtUp, statesOf } from '#test/generations.ts';
import { eventually } from '#test/eventually.ts';

const EVENTS_AT_ONCE = 5;
const EVENTS_EVERY_MS = 20;
const WAIT_SECONDS = 4;

/** Orders of a store are applied in order, so that the count determines the content of a page. */
function order(number: number) {
  const created_at = new Date(Date.UTC(2026, 0, 1) + number * 1_000).toISOString();
  return orderEvent(`o${number}`, { data: { created_at } });
}

const service = useQueryService();

it('clients that poll over a rebuild, its flip and a rollback, while events arrive, get no error, no inconsistent page, no falling count, and no 304 for another generation’s answer', async () => {
  const { get, list, installation } = service;
  const done = new AbortController();
  const untilDone = async (poll: () => Promise<unknown>) => {
    while (!done.signal.aborted) await poll();
  };
  let published = 0;
  const publish = async () => {
    await installation.publish(times(EVENTS_AT_ONCE, () => order(published++)));
    await sleep(EVENTS_EVERY_MS);
  };
  const seen = { pages: 0, notModified: 0, fallen: 0, behind: 0 };
  const tags: string[] = [];
  let before = 0;
  const pollPages = async () => {
    const page = 1 + (seen.pages % 5);
    const path = `/api/order/list?page_size=10&page=${page}`;
    const { count, results } = await list(path);
    const newest = count - 1 - (page - 1) * 10;
    const shown = Math.min(10, Math.max(0, newest + 1));
    expect(results.map(({ id }) => id)).toEqual(times(shown, (index) => `o${newest - index}`));
    seen.fallen = Math.max(seen.fallen, before - count);
    if (tags.length < 2) seen.behind = Math.max(seen.behind, published - count);
    before = count;
    seen.pages += 1;
  };
  const pollIfChanged = async () => {
    // A kind without events: its tag stays within a generation.
    const { status, json, headers } = await get('/api/coupon/list', 's1', {
      'if-none-match': tags.at(-1) ?? '',
    });
    if (status === 304) seen.notModified += 1;
    else {
      expect((json as ListBody).count).toBe(1);
      tags.push(headers.get('etag') ?? '');
    }
    await sleep(5);
  };
  const waits: number[] = [];
  const waitForWhatNeverComes = async () => {
    const began = performance.now();
    const answer = await get(`/api/review/changes?wait=${WAIT_SECONDS}`);
    expect([answer.status, (answer.json as ListBody).results]).toEqual([200, []]);
    waits.push(performance.now() - began);
  };

  await service.apply([aCoupon('n1')]);
  await installation.publish([order(published++)]);
  await generationCaughtUp(installation, 1);
  const polls = [publish, pollPages, waitForWhatNeverComes, pollIfChanged];
  const all = Promise.all(polls.map(untilDone));
  const work = async () => {
    await runCommand(installation.env, ['rebuild', '--json']);
    expect(await statesOf(installation)).toEqual(['1 kept', '2 live']);
    await eventually('the service has followed', () => tags.length === 2);
    await runJson(installation.env, ['rollback']);
    await eventually('the service has followed back', () => tags.length === 3);
    await eventually('all have seen enough', () => Math.min(seen.notModified, seen.pages) > 20);
  };
  try {
    await Promise.race([work(), all.then(() => Promise.reject(new Error('the clients ended')))]);
  } finally {
    done.abort();
  }
  await all;

  // Timers may fire a millisecond early.
  expect(Math.min(...waits)).toBeGreaterThan(WAIT_SECONDS * 1_000 - 10);
  // After the rollback the first generation's tag returns.
  expect(tags).toEqual([tags[0], tags[1], tags[0]]);
  expect(tags[1]).not.toBe(tags[0]);
  // The two apply the same events at slightly different times. A count may fall by the events of a
  // moment, or by the lag of answers behind published events on this machine.
  const aMoment = (EVENTS_AT_ONCE * 1_000) / EVENTS_EVERY_MS;
  expect(seen.fallen).toBeLessThanOrEqual(Math.max(aMoment, 2 * seen.behind));
  await generationCaughtUp(installation, 1);
  expect((await list('/api/order/list')).count).toBe(published);
});
