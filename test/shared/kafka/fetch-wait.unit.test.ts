import { afterEach, expect, it } from 'vitest';
import { fetchWaitMs, setFetchMaxWait } from '#shared/kafka/fetch.ts';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});
const lets = (topic: string, waitMs: () => number) => ends.push(setFetchMaxWait(topic, waitMs));

it('a fetch waits as asked where nobody says more', () => {
  expect(fetchWaitMs([{ topic: 'fetch-wait' }], 200)).toBe(200);
  lets('fetch-wait', () => 0);
  expect(fetchWaitMs([{ topic: 'fetch-wait' }], 200)).toBe(200);
});

it('a fetch waits as long as the least patient of its consumers allows, until that has ended', () => {
  let isIdle = true;
  lets('fetch-wait', () => 1_000);
  const end = setFetchMaxWait('fetch-wait', () => (isIdle ? 800 : 0));
  const wait = () => fetchWaitMs([{ topic: 'fetch-wait' }], 200);
  expect(wait()).toBe(800);
  isIdle = false;
  expect(wait()).toBe(200);
  end();
  expect(wait()).toBe(1_000);
  expect(fetchWaitMs([{ topic: 'another' }], 200)).toBe(200);
});
