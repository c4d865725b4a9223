import { describe, expect, it } from 'vitest';
import { FailureTracker } from '#projector/log/slice-writer.ts';

describe('failures at one place', () => {
  it('are said at once and then every minute, with how many they are', () => {
    const failing = new FailureTracker();
    const said = Array.from({ length: 130 }, (_, second) => failing.failed(7, second * 1_000));
    expect(said.filter((failures) => failures !== null)).toEqual([
      { attempts: 1, seconds: 0 },
      { attempts: 61, seconds: 60 },
      { attempts: 121, seconds: 120 },
    ]);
  });

  it('are said at once at another place, and after it had gone on', () => {
    const failing = new FailureTracker();
    expect(failing.failed(7, 0)).toEqual({ attempts: 1, seconds: 0 });
    expect(failing.failed(8, 1)).toEqual({ attempts: 1, seconds: 0 });
    expect(failing.end()).toBe(true);
    expect(failing.end()).toBe(false);
    expect(failing.failed(8, 2)).toEqual({ attempts: 1, seconds: 0 });
  });

  it('count as no outage where the database answers afterwards', () => {
    const failing = new FailureTracker();
    expect(failing.answered()).toBe(0);
    failing.failed(7, 0);
    failing.failed(7, 1);
    expect(failing.answered()).toBe(1);
    failing.failed(7, 2);
    expect(failing.answered()).toBe(2);
    failing.end();
    expect(failing.answered()).toBe(0);
  });
});
