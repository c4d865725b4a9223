import { describe, expect, it } from 'vitest';
import { readChange } from '#shared/events/change.ts';
import { runCommand } from './run-command.ts';

describe('events', () => {
  it('shows fields, and an example that the projector accepts', async () => {
    const { code, stdout } = await runCommand({}, 'events order');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^total +money +\(required\)$/m);
    expect(stdout).toMatch(/^delivery_fee +money +"0.00"$/m);
    const value = Buffer.from(stdout.slice(stdout.indexOf('\n{')));
    expect(readChange({ key: Buffer.from('s1'), value })).toMatchObject({ entity: 'order' });
  });
});
