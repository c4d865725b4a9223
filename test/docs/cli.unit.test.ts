import { describe, expect, it } from 'vitest';
import { cliMarkdown, commandHelps } from '#admin/documents/cli.ts';
import { createProgram } from '#admin/program.ts';
import { expectUpToDate } from './made-section.ts';

describe('docs/cli.md', () => {
  it('says what the commands say: npm run documents writes it anew', async () => {
    await expectUpToDate('docs/cli.md', 'commands', cliMarkdown());
  });

  it.each(commandHelps(createProgram()))('has a help of $name that fits 80 columns', ({ help }) => {
    expect(help).toMatch(/^Usage: store-data/);
    expect(help.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });
});
