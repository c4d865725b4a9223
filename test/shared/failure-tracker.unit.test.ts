import { describe, expect, it } from 'vitest';
import { FailureTracker } from '#shared/logging.ts';

describe('failures in turn', () => {
  it('are said at once and then every minute, with how many they are', () => {
    const failing = new FailureTracker();
    const said = Array.from({ length: 130 }, (_, second) => failing.failed(second * 1_000));
    expect(said.filter((failures) => failures !== null)).toEqual([
      { attempts: 1, seconds: 0 },
      { attempts: 61, seconds: 60 },
      { attempts: 121, seconds: 120 },
    ]);
  });

  it('are said at once after it had gone on', () => {
    const failing = new FailureTracker();
    expect(failing.failed(0)).toEqual({ attempts: 1, seconds: 0 });
    expect(failing.failed(1)).toBeNull();
    expect(failing.end()).toBe(true);
    expect(failing.end()).toBe(false);
    expect(failing.failed(2)).toEqual({ attempts: 1, seconds: 0 });
  });
});
