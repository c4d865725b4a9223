/** What is due comes once, in order of its time, and nothing that is noted too late is lost. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Timetable } from '#local/simulator/timetable.ts';

test('takes what is due, earliest first', () => {
  const timetable = new Timetable<string>();
  timetable.add(5_000, 'later');
  timetable.add(1_000, 'early');
  timetable.add(3_000, 'between');
  expect(timetable.takeUntil(3_000)).toEqual(['early', 'between']);
  expect(timetable.takeUntil(4_000)).toEqual([]);
  expect(timetable.takeUntil(9_000)).toEqual(['later']);
});

test('what is noted for the past comes with the next taking', () => {
  const timetable = new Timetable<string>();
  timetable.takeUntil(10_000);
  timetable.add(2_000, 'late');
  expect(timetable.takeUntil(10_100)).toEqual(['late']);
});

test('loses and repeats nothing, and takes nothing before its time', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 100_000 })), fc.array(fc.nat({ max: 120_000 })), (times, looks) => {
      const timetable = new Timetable<number>();
      for (const time of times) timetable.add(time, time);
      const taken = looks
        .toSorted((a, b) => a - b)
        .flatMap((now) => {
          const due = timetable.takeUntil(now);
          for (const time of due) expect(time).toBeLessThanOrEqual(now);
          return due;
        });
      taken.push(...timetable.takeUntil(200_000));
      expect(taken.toSorted((a, b) => a - b)).toEqual(times.toSorted((a, b) => a - b));
    }),
  );
});
