import { expect, it } from 'vitest';
import { runCommand } from '../run-command.ts';
import { orderLine } from './events.ts';

const NO_SERVERS = {};

it('says that all lines are events, without any server', async () => {
  const input = `${orderLine('s1', 'o1')}\n\n${orderLine('s1', 'o2')}\n`;
  const { code, stdout, stderr } = await runCommand(NO_SERVERS, ['publish', '-', '--check'], { input });
  expect([code, stdout, stderr]).toEqual([0, '2 are events, 0 are not\n', '']);
});

it('names each line that is no event, and fails', async () => {
  const input = `${orderLine('s1', 'o1')}\nnonsense\n${orderLine('s1', 'o2').replace('"pending"', '"lost"')}\n`;
  const { code, stdout, stderr } = await runCommand(NO_SERVERS, ['publish', '-', '--check'], { input });
  expect([code, stdout]).toEqual([1, '1 are events, 2 are not\n']);
  expect(stderr).toMatch(/^line 2: \w+: .+\nline 3: invalid_data: .*status.*\n$/);
});

it('says the same to programs', async () => {
  const input = `${orderLine('s1', 'o1')}\nnonsense\n`;
  const { code, stdout, stderr } = await runCommand(NO_SERVERS, ['publish', '-', '--check', '--json'], {
    input,
  });
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ valid: 1, rejected: 1, blank: 0 });
  expect(JSON.parse(stderr)).toMatchObject({ line: 2 });
});
