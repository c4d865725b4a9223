/** When orders came in: instants of past days at which a store was open, more of them at its busiest hour. */
import { WEEKDAYS } from '#shared/events/entities/store.ts';
import { offsetMilliseconds } from '#shared/read-models/local-time.ts';
import type { SimulatedStore } from './entities/store.ts';
import type { Chance } from './random.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;

/** As many instants as asked for, ascending, from `days` days ago to `until`, all within opening hours. */
export function openInstants(
  chance: Chance,
  store: SimulatedStore,
  { count, days, until }: { count: number; days: number; until: number },
): number[] {
  const shifts = pastShifts(store, days, until);
  if (shifts.length === 0) return [];
  return Array.from({ length: count }, () => {
    const { opens, closes } = chance.helpers.arrayElement(shifts);
    // The mean of two draws: most in the middle, few at both ends.
    const part = (chance.number.float() + chance.number.float()) / 2;
    return Math.floor(opens + part * (closes - opens));
  }).toSorted((a, b) => a - b);
}

interface Shift {
  opens: number;
  closes: number;
}

/** Each opening of the store that was over, or had at least begun, at `until`. */
function pastShifts({ city, cuisine }: SimulatedStore, days: number, until: number): Shift[] {
  const offset = offsetMilliseconds(city.timezoneOffset);
  const today = Math.floor((until + offset) / DAY) * DAY;
  return Array.from({ length: days }, (_, ago) => today - ago * DAY)
    .filter((day) => cuisine.opens.days.includes(weekdayOf(day)))
    .map((day) => ({
      opens: day + minutesOfClock(cuisine.opens.from) * MINUTE - offset,
      closes: Math.min(day + minutesOfClock(cuisine.opens.to) * MINUTE - offset, until),
    }))
    .filter(({ opens, closes }) => closes > opens);
}

/** The weekday of a local midnight, given as if it were UTC. */
function weekdayOf(day: number): (typeof WEEKDAYS)[number] {
  return WEEKDAYS[(new Date(day).getUTCDay() + 6) % 7] ?? 'monday';
}

function minutesOfClock(clock: string): number {
  const [hours = 0, minutes = 0] = clock.split(':').map(Number);
  return hours * 60 + minutes;
}
