import { describe, expect, it } from 'vitest';
import { Places } from '#projector/consumer/places.ts';

describe('places', () => {
  it('are given to so many, and then to those who wait, in the order in which they came', async () => {
    const places = new Places(2);
    const [leaveFirst, leaveSecond] = [await places.enter(), await places.enter()];
    const entered: string[] = [];
    const third = places.enter().then((leave) => (entered.push('third'), leave));
    const fourth = places.enter().then((leave) => (entered.push('fourth'), leave));
    await Promise.resolve();
    expect(entered).toEqual([]);
    leaveSecond();
    const leaveThird = await third;
    expect(entered).toEqual(['third']);
    leaveFirst();
    const leaveFourth = await fourth;
    leaveThird();
    leaveFourth();
    await places.enter();
    await places.enter();
  });
});
