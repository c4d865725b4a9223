import { randomInt } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { compareWithJava } from './compare.ts';

describe('record batches of any bytes', () => {
  const batches = Number(process.env['BATCHES'] ?? 2_000);
  const timeout = 120_000 + 20 * batches;
  it('yield the same messages as with the Java client', { timeout }, async (context) => {
    const seed = Number(process.env['SEED'] ?? randomInt(2 ** 31));
    const compared = await compareWithJava(seed, batches).catch((error: unknown) => {
      // A missing tool skips the test; a difference fails it.
      if (error instanceof Error && !error.message.startsWith('a batch is read differently'))
        context.skip(error.message);
      throw error;
    });
    expect(compared.read).toBeGreaterThan(batches / 5);
    expect(compared.refused).toBeGreaterThan(batches / 20);
    expect(Object.keys(compared.onPurpose).length).toBeGreaterThan(2);
  });
});
