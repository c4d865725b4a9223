import { describe, expect, it } from 'vitest';
import { Semaphore } from '#shared/waiting.ts';

describe('a semaphore', () => {
  it('lets so many in, and then those who wait, in the order in which they came', async () => {
    const semaphore = new Semaphore(2);
    const [leaveFirst, leaveSecond] = [await semaphore.acquire(), await semaphore.acquire()];
    const entered: string[] = [];
    const third = semaphore.acquire().then((leave) => (entered.push('third'), leave));
    const fourth = semaphore.acquire().then((leave) => (entered.push('fourth'), leave));
    await Promise.resolve();
    expect(entered).toEqual([]);
    leaveSecond();
    const leaveThird = await third;
    expect(entered).toEqual(['third']);
    leaveFirst();
    const leaveFourth = await fourth;
    leaveThird();
    leaveFourth();
    await semaphore.acquire();
    await semaphore.acquire();
  });
});
