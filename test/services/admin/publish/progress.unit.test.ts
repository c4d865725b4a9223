import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { describeProgress, Progress } from '#admin/publish/progress.ts';
import { noCounts } from '#admin/publish/publish-stream.ts';

describe('progress', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('tells the share and the time left where the size is known', () => {
    const counts = { ...noCounts(), sent: 50_000, rejected: 2, bytes: 524_288 };
    expect(describeProgress(counts, 1_048_576, 2_000)).toBe(
      'sent 50000, rejected 2, 25000 events/s, 50 % of 1.0 MiB, 2.0 s left',
    );
    expect(describeProgress(counts, null, 2_000)).toBe('sent 50000, rejected 2, 25000 events/s, 512 KiB');
    expect(describeProgress(noCounts(), 0, 0)).toBe('sent 0, rejected 0, 0 events/s, 0 B');
  });

  it('rewrites one line of a terminal and makes room for what is said', () => {
    const written: string[] = [];
    const output = {
      isTTY: true,
      columns: 30,
      write: (text: string | Uint8Array) => written.push(String(text)) > 0,
    };
    const progress = new Progress({ output, counts: noCounts(), totalBytes: null });
    vi.advanceTimersByTime(200);
    progress.say('line 1: malformed');
    progress.stop();
    expect(written).toEqual(['\rsent 0, rejected 0, 0 events/\u001B[K', '\r\u001B[K', 'line 1: malformed\n']);
  });

  it('writes a line every five seconds elsewhere', () => {
    const written: string[] = [];
    const output = {
      isTTY: false,
      columns: 80,
      write: (text: string | Uint8Array) => written.push(String(text)) > 0,
    };
    const progress = new Progress({ output, counts: noCounts(), totalBytes: null });
    vi.advanceTimersByTime(10_500);
    progress.stop();
    vi.advanceTimersByTime(60_000);
    expect(written).toEqual([
      'sent 0, rejected 0, 0 events/s, 0 B\n',
      'sent 0, rejected 0, 0 events/s, 0 B\n',
    ]);
  });
});
